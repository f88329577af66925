"""Run a question through a pipeline: yield the hits, then the answer piece by piece."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from django.utils import timezone

from access.usage_limits import add_model_use
from answers.asking import Answer, AskRequest, PipelineHits
from answers.exceptions import InvalidPipeline
from answers.pipelines.explaining import explain_absence
from answers.pipelines.loading import LoadedPipeline, get_pipeline
from answers.questions.follow_ups import rewrite_follow_up
from core.exceptions import InvalidInput
from language_models.call_counts import counting_use
from retrieval.event_loop import run_in_thread
from retrieval.filters import parse_filter
from retrieval.request_cache import keep_for_request
from retrieval.search import MAX_LIMIT
from retrieval.search.query_syntax import read_conditions
from retrieval.search.reading import read_search
from retrieval.search.request import SearchOptions, check_query
from retrieval.search.targets import find_builds

_DEFAULT_PIPELINE: Final = "plain"  # for an index without a live build, whose spec names one
_END: Final = object()
# Outputs of components that are fields of ``PipelineHits``; of several, the last counts.
MERGED_OUTPUTS: Final = (
    "query", "semantic_query", "queries", "filter", "parsed", "relevant", "refusal", "identified",
    "dropped", "stale_ids", "relationships",
)  # fmt: skip
FOLLOW_UP: Final = "follow_up"  # what comes before the components, if there is a history

Outputs = Mapping[str, Mapping[str, Any]]  # by component, by output


def check_ask_request(question: AskRequest) -> LoadedPipeline:
    """The question's pipeline. Raises what ``run_pipeline`` raises before it yields anything."""
    check_query([question.index], question.query)
    read_conditions(question.must, question.must_not, question.phrases)  # refuses wrong ones
    if not 1 <= question.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}.", field="limit")
    build = find_builds([question.index], question.grant)[question.index]
    if build is None:
        return get_pipeline(question.pipeline or _DEFAULT_PIPELINE)
    spec = build.spec
    parse_filter(question.filter, spec)  # so that an error names the caller's own filter
    return get_pipeline(question.pipeline or spec.search.pipeline)


async def run_pipeline(question: AskRequest) -> AsyncGenerator[PipelineHits | str | Answer, None]:
    """Yield the hits as soon as they are known, then the answer's pieces, then the whole answer.

    Nothing follows a refusal. Always close the iterator: closing it cancels what still runs.

    Raises:
        InvalidInput: names the parameter.
        UnknownIndex, UnknownPipeline: lists the known names.
        InvalidPipeline: its file is not valid.
        StrataError: any other error of a component, unchanged.
    """
    events: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    drained = asyncio.Event()  # set while the queue is empty; components wait for it

    # Callable from any thread; keeps the order of events. A function, because Haystack would
    # deep-copy the object of a bound method.
    def emit(event: Any) -> asyncio.Event:
        drained.clear()
        loop.call_soon_threadsafe(events.put_nowait, event)
        return drained

    with keep_for_request():  # the task keeps this context
        task = asyncio.create_task(_run_and_emit(question, emit))
    task.add_done_callback(lambda _: emit(_END))
    try:
        while True:
            if events.empty():
                drained.set()
            if (event := await events.get()) is _END:
                break
            yield event
        await task  # raises the task's exception, if any
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def find_hits(question: AskRequest) -> PipelineHits:
    """Run the pipeline in this thread, without writing an answer. Raises as ``run_pipeline``."""
    loaded = check_ask_request(question)
    timer = _ComponentTimer(loaded)
    question = _read_syntax(question)
    inputs = _make_inputs(loaded, replace(question, wants_answer=False))
    with keep_for_request(), _raising_errors_of_components():
        outputs = loaded.haystack.run(inputs, include_outputs_from=set(loaded.execution_order))
    return _make_pipeline_hits(loaded, question, outputs, timer.read_times())


def _read_syntax(question: AskRequest) -> AskRequest:
    """Read what is typed in the question beside its words. It holds for all wordings."""
    given = {name: getattr(question, name) for name in ("must", "must_not", "phrases")}
    options = SearchOptions(reads_syntax=True, **given)
    builds = find_builds([question.index], question.grant).values()
    read = read_search(question.query, options, builds)
    return replace(
        question, query=read.question or read.text, notes=read.notes, read=replace(read, notes=())
    )


# --- Inputs ----------------------------------------------------------------------------------


def _make_inputs(
    loaded: LoadedPipeline,
    question: AskRequest,
    on_piece: Callable[[str], asyncio.Event] | None = None,
) -> dict[str, dict[str, Any]]:
    """Component -> its inputs: in a flat mapping, Haystack warns about inputs that none takes."""
    values = {
        "index": question.index,
        "grant": question.grant,
        "query": question.query,
        "queries": [question.query],
        "filter": question.filter,
        "limit": question.limit,
        "versions": question.versions,
        "wants_answer": question.wants_answer,
        "on_piece": on_piece,
        "read": question.read,
    }
    return {
        component: {name: values[name] for name in names}
        for component, names in loaded.run_inputs.items()
    }


# --- Running ---------------------------------------------------------------------------------


async def _run_and_emit(question: AskRequest, emit: Callable[[Any], asyncio.Event]) -> None:
    """Run the pipeline to its end and ``emit`` the hits, the answer's pieces and the answer."""
    loaded = await run_in_thread(check_ask_request, question)
    timer = _ComponentTimer(loaded)
    outputs: dict[str, Mapping[str, Any]] = {}
    has_hits = False
    async with _counting_model_use(question.holder):
        question = await run_in_thread(_read_syntax, question)
        if question.history:
            rewrite = partial(rewrite_follow_up, question.query, question.history)
            query, notes = await run_in_thread(rewrite)
            question = replace(question, query=query, notes=(*question.notes, *notes))
            timer.mark_ended(FOLLOW_UP)
        inputs = _make_inputs(loaded, question, emit)
        async with aclosing(_run_components(loaded, inputs)) as components:
            async for component, content in components:
                outputs[component] = content
                timer.mark_ended(component)
                if not has_hits and (component == loaded.hits_component or "refusal" in content):
                    has_hits = True
                    times = timer.read_times()
                    make = partial(_make_pipeline_hits, loaded, question, dict(outputs), times)
                    # To find where something was lost, the store is asked.
                    emit(make() if question.why_not is None else await run_in_thread(make))
                if "answer" in content:
                    emit(content["answer"])
    _require_hits(loaded, has_hits)


@asynccontextmanager
async def _counting_model_use(holder: str) -> AsyncIterator[None]:
    with counting_use() as use:
        try:
            yield
        finally:
            # In a thread: the cache with the counters may be a server.
            await asyncio.to_thread(
                add_model_use, holder, calls=use.call_count, tokens=use.token_count
            )


async def _run_components(
    loaded: LoadedPipeline, inputs: Mapping[str, Mapping[str, Any]]
) -> AsyncGenerator[tuple[str, Mapping[str, Any]], None]:
    """Yield each component's name and outputs when it ends."""
    ended: set[str] = set()
    running = loaded.haystack.run_async_generator(
        dict(inputs), include_outputs_from=set(loaded.execution_order)
    )
    with _raising_errors_of_components():
        async with aclosing(running) as partial_outputs:
            async for outputs in partial_outputs:  # the last repeats all outputs
                for component in outputs.keys() - ended:
                    ended.add(component)
                    yield component, outputs[component]


@contextmanager
def _raising_errors_of_components() -> Iterator[None]:
    """Raise the exception that a component raised, without Haystack's wrapper."""
    from haystack.core.errors import PipelineRuntimeError

    try:
        yield
    except PipelineRuntimeError as error:
        raise error.__cause__ or error from error


class _ComponentTimer:
    """Measures milliseconds per component. A component starts when its last sender has ended."""

    def __init__(self, loaded: LoadedPipeline) -> None:
        self._senders = loaded.senders
        self._started_on = timezone.now()
        self._started_at = time.perf_counter()
        self._ended_at: dict[str, float] = {}
        self._took_ms: dict[str, float] = {}

    def mark_ended(self, component: str) -> None:
        now = time.perf_counter()
        senders = [FOLLOW_UP, *self._senders.get(component, ())]
        ends = [self._ended_at[each] for each in senders if each in self._ended_at]
        self._ended_at[component] = now
        self._took_ms[component] = (now - max(ends, default=self._started_at)) * 1_000

    def read_times(self) -> dict[str, Any]:
        """``started_at`` and ``took_ms`` of ``PipelineHits``, until now."""
        total_ms = (time.perf_counter() - self._started_at) * 1_000
        took_ms = {**self._took_ms, "total": total_ms}
        return {
            "started_at": self._started_on,
            "took_ms": {name: round(took, 3) for name, took in took_ms.items()},
        }


# --- Results ---------------------------------------------------------------------------------


def _make_pipeline_hits(
    loaded: LoadedPipeline,
    question: AskRequest,
    outputs: Outputs,
    times: Mapping[str, Any],
) -> PipelineHits:
    in_order = [outputs[component] for component in loaded.execution_order if component in outputs]
    merged = {
        "query": question.query,
        "semantic_query": question.query,
        "queries": [question.query],
        "filter": question.filter,
        **{name: value for content in in_order for name, value in content.items()},
    }
    if "refusal" not in merged:
        _require_hits(loaded, loaded.hits_component in outputs)
    found = PipelineHits(
        pipeline=loaded.name,
        passages=outputs.get(loaded.hits_component, {}).get("passages", []),
        question=question.query,
        notes=[
            *question.notes,
            *(note for content in in_order for note in content.get("notes", ())),
        ],
        builds={
            index: number
            for content in in_order
            for index, number in content.get("builds", {}).items()
        },
        **times,
        **{name: merged[name] for name in MERGED_OUTPUTS if name in merged},
    )
    if question.why_not is None:
        return found
    return replace(found, why_not=explain_absence(loaded, outputs, question, found))


def _require_hits(loaded: LoadedPipeline, has_hits: bool) -> None:
    if not has_hits:
        raise InvalidPipeline(
            f"The pipeline {loaded.name} ended before its component {loaded.hits_component} ran."
        )
