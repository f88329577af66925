"""Running a question through a pipeline: first what was found, then the answer as it is written."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID

from core.exceptions import InvalidInput
from retrieval.awaiting import in_thread
from retrieval.exceptions import InvalidPipeline
from retrieval.filters import parse_filter
from retrieval.passages import Answer, Passage, Refusal
from retrieval.pipelines.explaining import explain_absence
from retrieval.pipelines.loading import LoadedPipeline, get_pipeline
from retrieval.search import MAX_LIMIT, Dropped
from retrieval.search.request import check_query
from retrieval.search.targets import find_builds, read_spec

MAX_ANSWER_HITS: Final = MAX_LIMIT
_DEFAULT_PIPELINE: Final = "plain"  # of an index that has nothing live to name one
_END: Final = object()

Outputs = Mapping[str, Mapping[str, Any]]  # by component, by output


@dataclass(frozen=True, slots=True)
class Question:
    """``pipeline`` None: the one the live spec names. ``filter`` is as callers write it.

    ``begun``: the text of an answer that broke off, to be gone on with; what is yielded then is
    only the rest of it. ``why_not``: a node or an artifact, to be told where it was lost.
    """

    index: str
    query: str
    filter: dict[str, Any] | None = None
    limit: int = 10
    pipeline: str | None = None
    wants_answer: bool = True
    explain: bool = False
    why_not: UUID | None = None
    begun: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a pipeline found, or why it refused to look.

    ``query`` is what was searched for in the end, ``queries`` its wordings; ``filter`` what held
    for them, ``parsed`` the part of it read out of the question; ``notes`` are sentences on what
    could not be done. ``took_ms``: by component, and ``total``.
    """

    pipeline: str
    passages: list[Passage] = field(default_factory=list)
    query: str = ""
    queries: list[str] = field(default_factory=list)
    filter: dict[str, Any] | None = None
    parsed: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refusal: Refusal | None = None
    identified: list[dict[str, Any]] = field(default_factory=list)
    builds: dict[str, int | None] = field(default_factory=dict)
    dropped: Dropped = field(default_factory=Dropped)
    stale_artifact_ids: list[UUID] = field(default_factory=list)  # to be indexed again
    took_ms: dict[str, float] = field(default_factory=dict)
    why_not: dict[str, Any] | None = None


def check_question(question: Question) -> None:
    """Raise now what ``run`` would raise before it yields anything."""
    _prepare(question)


async def run(question: Question) -> AsyncGenerator[Found | str | Answer, None]:
    """What was found, as soon as it is known; then the answer piece by piece, then whole.

    After a refusal nothing follows. Closing the iterator cancels what still runs; close it.

    Raises:
        InvalidInput: naming the parameter.
        UnknownIndex, UnknownPipeline: with the names there are.
        InvalidPipeline: its file is not valid.
        StrataError: what else a component raises, as it is.
    """
    loaded = await in_thread(_prepare, question)
    events: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    # From whichever thread, and in the order they come; a function, for Haystack would copy the
    # object of a method.
    def put(event: Any) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    driving = asyncio.create_task(_drive(loaded, question, put))
    driving.add_done_callback(lambda _: put(_END))
    try:
        while (event := await events.get()) is not _END:
            yield event
        await driving  # raises what it met
    finally:
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)


def find(question: Question) -> Found:
    """What the pipeline finds, without an answer; in this thread. Raises as ``run``."""
    from haystack.core.errors import PipelineRuntimeError

    loaded = _prepare(question)
    began = time.perf_counter()
    inputs = _make_inputs(loaded, question, wants_answer=False)
    try:
        outputs = loaded.haystack.run(inputs, include_outputs_from=set(loaded.order))
    except PipelineRuntimeError as error:
        raise _translate(error) from error
    return _make_found(loaded, question, outputs, {}, (time.perf_counter() - began) * 1_000)


# --- Before ----------------------------------------------------------------------------------


def _prepare(question: Question) -> LoadedPipeline:
    check_query([question.index], question.query)
    if not 1 <= question.limit <= MAX_ANSWER_HITS:
        raise InvalidInput(f"limit lies between 1 and {MAX_ANSWER_HITS}.", field="limit")
    build = find_builds([question.index])[question.index]
    if build is None:
        return get_pipeline(question.pipeline or _DEFAULT_PIPELINE)
    spec = read_spec(build.recipe)
    parse_filter(question.filter, spec)  # wrong ones are named as they were written
    return get_pipeline(question.pipeline or spec.search.pipeline)


def _make_inputs(
    loaded: LoadedPipeline,
    question: Question,
    *,
    wants_answer: bool,
    on_piece: Callable[[str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """By component. Haystack would give a plain mapping to all by name as well, and warn of
    each input that no component takes."""
    given = {
        "index": question.index,
        "query": question.query,
        "queries": [question.query],
        "filter": question.filter,
        "limit": question.limit,
        "wants_answer": wants_answer,
        "on_piece": on_piece,
        "begun": question.begun,
    }
    return {
        component: {name: given[name] for name in names}
        for component, names in loaded.run_inputs.items()
    }


# --- Meanwhile -------------------------------------------------------------------------------


async def _drive(loaded: LoadedPipeline, question: Question, put: Callable[[Any], None]) -> None:
    """Run the pipeline to its end and ``put`` what comes of it."""
    inputs = _make_inputs(loaded, question, wants_answer=question.wants_answer, on_piece=put)
    clock = _Clock(loaded)
    outputs: dict[str, Mapping[str, Any]] = {}
    is_found = False
    async with aclosing(_run_components(loaded, inputs)) as components:
        async for component, content in components:
            outputs[component] = content
            clock.stop(component)
            if not is_found and (component == loaded.hits or "refusal" in content):
                is_found = True
                put(await _tell_found(loaded, question, outputs, clock))
            if "answer" in content:
                put(content["answer"])
    _require_hits(loaded, is_found)


async def _run_components(
    loaded: LoadedPipeline, inputs: Mapping[str, Mapping[str, Any]]
) -> AsyncGenerator[tuple[str, Mapping[str, Any]], None]:
    """Each component as it ends, with its outputs."""
    from haystack.core.errors import PipelineRuntimeError

    ended: set[str] = set()
    running = loaded.haystack.run_async_generator(
        dict(inputs), include_outputs_from=set(loaded.order)
    )
    try:
        async with aclosing(running) as partial_outputs:
            async for outputs in partial_outputs:  # the last are all of them once more
                for component in outputs.keys() - ended:
                    ended.add(component)
                    yield component, outputs[component]
    except PipelineRuntimeError as error:
        raise _translate(error) from error


async def _tell_found(
    loaded: LoadedPipeline, question: Question, outputs: Outputs, clock: "_Clock"
) -> Found:
    make = partial(_make_found, loaded, question, dict(outputs), clock.took_ms, clock.total_ms)
    if question.why_not is None:
        return make()
    return await in_thread(make)


class _Clock:
    """Milliseconds by component. One begins when the last of those it hears from has ended."""

    def __init__(self, loaded: LoadedPipeline) -> None:
        self._heard = loaded.heard
        self._began = time.perf_counter()
        self._ended: dict[str, float] = {}
        self.took_ms: dict[str, float] = {}

    def stop(self, component: str) -> None:
        now = time.perf_counter()
        ends = [self._ended[each] for each in self._heard[component] if each in self._ended]
        self._ended[component] = now
        self.took_ms[component] = (now - max(ends, default=self._began)) * 1_000

    @property
    def total_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1_000


# --- Afterwards ------------------------------------------------------------------------------


def _make_found(
    loaded: LoadedPipeline,
    question: Question,
    outputs: Outputs,
    took_ms: Mapping[str, float],
    total_ms: float,
) -> Found:
    in_order = [outputs[component] for component in loaded.order if component in outputs]
    last: dict[str, Any] = {}
    for content in in_order:
        last |= content
    refusal = last.get("refusal")
    if refusal is None:
        _require_hits(loaded, loaded.hits in outputs)
    passages = outputs[loaded.hits]["passages"] if loaded.hits in outputs else []
    return Found(
        pipeline=loaded.name,
        passages=list(passages),
        query=last.get("query", question.query),
        queries=list(last.get("queries", [question.query])),
        filter=last.get("filter", question.filter),
        parsed=dict(last.get("parsed") or {}),
        notes=[note for content in in_order for note in content.get("notes", ())],
        refusal=refusal,
        identified=list(last.get("identified", ())),
        builds=_merge(content.get("builds", {}) for content in in_order),
        dropped=last.get("dropped", Dropped()),
        stale_artifact_ids=list(last.get("stale_artifact_ids", ())),
        took_ms={name: round(took, 3) for name, took in {**took_ms, "total": total_ms}.items()},
        why_not=None
        if question.why_not is None
        else explain_absence(
            loaded,
            outputs,
            index=question.index,
            sought=question.why_not,
            filter=last.get("filter", question.filter),
            queries=list(last.get("queries", [question.query])),
            refusal=refusal,
        ),
    )


def _merge(mappings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for mapping in mappings:
        merged |= mapping
    return merged


def _require_hits(loaded: LoadedPipeline, is_found: bool) -> None:
    if not is_found:
        raise InvalidPipeline(
            f"The pipeline {loaded.name} ended before its {loaded.hits} had anything to show."
        )


def _translate(error: Exception) -> Exception:
    """What a component raised, out of what Haystack wraps it in."""
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error
