"""The stages of searches, answers and indexing: each is entered here, which measures its time and,
where traces are sent, makes its span.

Spans have the names and attributes of OpenInference. They hold ids, counts, scores and the names of
models and indexes, and never a text, a query or a key.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar

from opentelemetry import context, trace
from opentelemetry.trace import INVALID_SPAN, Span, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core.metrics import STAGE_SECONDS

Kind = Literal["CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "LLM"]
Attributes = Mapping[str, Any]

P = ParamSpec("P")
R = TypeVar("R")

_w3c = TraceContextTextMapPropagator()
_get_tracer: Callable[[], Tracer] | None = None  # None: no traces are sent


def send_spans(get_tracer: Callable[[], Tracer] | None) -> None:
    """Make spans with this tracer, which each process makes at its first span; with None, none."""
    global _get_tracer
    _get_tracer = get_tracer


@contextmanager
def stage(
    name: str,
    kind: Kind = "CHAIN",
    attributes: Attributes | None = None,
    *,
    took_ms: dict[str, float] | None = None,
) -> Iterator[Span]:
    """A stage, until the block ends; also a decorator. Adds its milliseconds to ``took_ms``."""
    started_at = time.perf_counter()
    try:
        if _get_tracer is None:
            yield INVALID_SPAN
        else:
            with span(name, kind, attributes) as opened:
                yield opened
    finally:
        seconds = time.perf_counter() - started_at
        STAGE_SECONDS.labels(name).observe(seconds)
        if took_ms is not None:
            took_ms[name] += seconds * 1_000


@contextmanager
def span(
    name: str,
    kind: Kind = "CHAIN",
    attributes: Attributes | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Iterator[Span]:
    """A span without a time of its own in the metrics. ``headers``: of the request or message that
    it answers, whose ``traceparent`` names the parent."""
    if _get_tracer is None:
        yield INVALID_SPAN
        return
    opened = _get_tracer().start_span(
        name,
        None if headers is None else _w3c.extract(headers),
        attributes={"openinference.span.kind": kind, **(attributes or {})},
    )
    # Others nest below these only. A stream of a language model is entered in one context and may
    # be closed in another.
    is_parent = kind in {"CHAIN", "RETRIEVER"}
    token = context.attach(trace.set_span_in_context(opened)) if is_parent else None
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


def describe(make_attributes: Callable[[], Attributes], *, name: str | None = None) -> None:
    """Add attributes to the span of the block that this is called in, and rename it."""
    if _get_tracer is not None:
        current = trace.get_current_span()
        current.set_attributes(make_attributes())
        if name is not None:
            current.update_name(name)


def inject_span(headers: dict[str, str]) -> dict[str, str]:
    """Add the ``traceparent`` of the current span, if there is one."""
    if _get_tracer is not None:
        _w3c.inject(headers)
    return headers


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


def describe_documents(found: list[tuple[str, float | None]], *, prefix: str) -> Attributes:
    """The ids and scores of documents, the best first; a span has room for 40."""
    attributes: dict[str, Any] = {"strata.document_count": len(found)}
    for rank, (id, score) in enumerate(found[:40]):
        attributes[f"{prefix}.{rank}.document.id"] = id
        if score is not None:
            attributes[f"{prefix}.{rank}.document.score"] = score
    return attributes
