"""The stages of searches, answers and indexing: each is entered here, which measures its time and,
where traces are sent, makes its span.

Spans have the names and attributes of OpenInference. They hold ids, counts, scores and the names of
models and indexes, and never a text, a query or a key.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any, Literal, ParamSpec, TypeVar

from opentelemetry import context, trace
from opentelemetry.trace import INVALID_SPAN, Span, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core.metrics import STAGE_SECONDS

Kind = Literal["CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "LLM"]
P = ParamSpec("P")
R = TypeVar("R")

MOST_DOCUMENTS = 40  # a span keeps 128 attributes, of which each document takes two

_NO_SPAN = nullcontext(INVALID_SPAN)
_w3c = TraceContextTextMapPropagator()
_get_tracer: Callable[[], Tracer] | None = None  # None: no traces are sent


def send_spans(get_tracer: Callable[[], Tracer]) -> None:
    """Make spans with this tracer from now on."""
    global _get_tracer
    _get_tracer = get_tracer


@contextmanager
def stage(
    name: str, kind: Kind = "CHAIN", took_ms: dict[str, float] | None = None
) -> Iterator[Span]:
    """A stage, until the block ends; also a decorator. Adds its milliseconds to ``took_ms``."""
    started_at = time.perf_counter()
    try:
        with _NO_SPAN if _get_tracer is None else span(name, kind) as opened:
            yield opened
    finally:
        seconds = time.perf_counter() - started_at
        STAGE_SECONDS.labels(name).observe(seconds)
        if took_ms is not None:
            took_ms[name] += seconds * 1_000


@contextmanager
def span(
    name: str, kind: Kind = "CHAIN", headers: Mapping[str, str] | None = None
) -> Iterator[Span]:
    """A span whose time is measured elsewhere. ``headers``: of the request or message that it
    answers, whose ``traceparent`` names its parent."""
    if _get_tracer is None:
        yield INVALID_SPAN
        return
    parent = None if headers is None else _w3c.extract(headers)
    opened = _get_tracer().start_span(name, parent, attributes={"openinference.span.kind": kind})
    # A stream of a language model, which has no span below it, may end in another context.
    token = None if kind == "LLM" else context.attach(trace.set_span_in_context(opened))
    try:
        yield opened
    except Exception as error:
        # Not its message, which may quote a text.
        opened.set_status(Status(StatusCode.ERROR, type(error).__name__))
        raise
    finally:
        if token is not None:
            context.detach(token)
        opened.end()


def describe(attributes: Mapping[str, Any], *, name: str | None = None) -> None:
    """Add attributes to the span around the caller, and rename it."""
    if _get_tracer is not None:
        current = trace.get_current_span()
        current.set_attributes(attributes)
        if name is not None:
            current.update_name(name)


def describe_documents(prefix: str, found: Iterable[tuple[object, float | None]]) -> None:
    """Add the ids and scores of the best documents to the span around the caller."""
    if _get_tracer is not None:
        for rank, (id, score) in enumerate(islice(found, MOST_DOCUMENTS)):
            describe({f"{prefix}.{rank}.document.id": str(id)})
            if score is not None:
                describe({f"{prefix}.{rank}.document.score": score})


def inject_span(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a message, with the ``traceparent`` of the current span if there is one."""
    carrier = dict(headers)
    if _get_tracer is not None:
        _w3c.inject(carrier)
    return carrier


def keep_span(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, which continues the current span in the thread that calls it."""
    if _get_tracer is None:
        return function
    current = context.get_current()

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        token = context.attach(current)
        try:
            return function(*args, **kwargs)
        finally:
            context.detach(token)

    return call
