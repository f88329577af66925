"""Pipeline component that reranks the best passages with a cross-encoder or a postprocessor."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from haystack import component

from answers.cross_encoders import (
    CrossEncoder,
    RerankEndpoint,
    ScoringStopped,
    get_cross_encoder_loader,
)
from answers.pipelines.run_async import add_run_async
from core.exceptions import InvalidInput
from core.import_lock import import_lock
from core.stages import describe, describe_documents, stage
from indexing.exceptions import ModelUnavailable
from indexing.model_loading import ModelLoader
from retrieval.passages import Passage

logger = logging.getLogger(__name__)

# LlamaIndex postprocessors that are allowed -> the options a pipeline may set.
POSTPROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "LongContextReorder": frozenset(),
    "SentenceTransformerRerank": frozenset({"model", "device"}),
    "SimilarityPostprocessor": frozenset({"similarity_cutoff"}),
}

RerankCall = Callable[[Callable[[], bool]], list[tuple[Passage, float | None]]]


class _Skipped(Exception):
    """The passages keep their order; the message says why."""


@component
@add_run_async
@dataclass(eq=False, repr=False)
class Reranker:
    """Rerank the best ``candidates``; the passages after them keep their order.

    A cross-encoder reranks (``model``: a name of fastembed's catalogue, or a folder), one behind an
    ``endpoint`` with ``POST /rerank``, or a LlamaIndex postprocessor (``postprocessor``, with its
    ``options``). With none, the passages stay unchanged. If reranking takes longer than
    ``budget_ms`` or the endpoint fails, the passages keep their order, and a note says so; the time
    to load a model is not counted.
    """

    model: str = ""
    window: int | None = None
    endpoint: str = ""
    api_key_variable: str = ""
    texts_field: Literal["documents", "texts"] = "documents"
    postprocessor: str = ""
    options: dict[str, Any] | None = None
    candidates: int = 50
    budget_ms: int = 1_000

    def __post_init__(self) -> None:
        self._check()
        self._endpoint = self._loader = None
        if self.endpoint:
            self._endpoint = RerankEndpoint(
                self.model,
                self.endpoint,
                api_key_variable=self.api_key_variable,
                texts_field=self.texts_field,
                seconds=self.budget_ms / 1_000,
            )
        elif self.model:
            self._loader = get_cross_encoder_loader(self.model, self.window)
        elif self.postprocessor:
            make = partial(
                make_postprocessor, self.postprocessor, self.options or {}, self.candidates
            )
            self._loader = ModelLoader(f"The postprocessor {self.postprocessor}", make)
        self._name = self.model or self.endpoint or self.postprocessor
        # One at a time: two rerankings in parallel would each take twice as long.
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reranker")

    def _check(self) -> None:
        if (self.model or self.endpoint) and self.postprocessor:
            raise InvalidInput(
                "Give a model, an endpoint or a postprocessor.", field="postprocessor"
            )
        if self.endpoint and self.window is not None:
            raise InvalidInput("An endpoint cuts the texts itself.", field="window")
        for name, default in (("api_key_variable", ""), ("texts_field", "documents")):
            if not self.endpoint and getattr(self, name) != default:
                raise InvalidInput(f"{name} is for an endpoint, and none is given.", field=name)
        if self.postprocessor and self.postprocessor not in POSTPROCESSORS:
            raise InvalidInput(
                f"There is no postprocessor {self.postprocessor!r}.",
                field="postprocessor",
                allowed=POSTPROCESSORS,
            )
        allowed = POSTPROCESSORS.get(self.postprocessor, frozenset())
        for option in self.options or {}:
            if option not in allowed:
                raise InvalidInput(
                    f"There is no option {option!r}.", field="options", allowed=allowed
                )
        for name in ("candidates", "budget_ms"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be 1 or more.", field=name)

    def warm_up(self) -> None:
        """Load the model before the first question needs it. Raises what ``run`` raises."""
        if self._loader is not None:
            self._loader.get()

    @component.output_types(passages=list[Passage], notes=list[str])
    def run(self, query: str, passages: list[Passage]) -> dict[str, Any]:
        """Sort the first passages anew by the reranking model; the others keep their places. Raises
        ``ModelLoading``, for which retry helps, and ``ModelUnavailable``: the model is unknown, or
        its files or package are missing."""
        if not passages or not self._name:
            return {"passages": passages, "notes": []}
        head, tail = passages[: self.candidates], passages[self.candidates :]
        rerank_call = self._make_rerank_call(query, head)
        try:
            with stage("reranker", "RERANKER"):
                # Not the endpoint's URL, which may hold a key.
                describe({"reranker.model_name": self.model or self.postprocessor})
                ordered = self._run_within_budget(rerank_call)
                described = ((passage.id, score) for passage, score in ordered)
                describe_documents("reranker.output_documents", described)
        except _Skipped as skipped:
            logger.warning("%s", skipped)
            return {"passages": passages, "notes": [str(skipped)]}
        previous_ranks = {passage.id: rank for rank, passage in enumerate(head, start=1)}
        reranked = [
            self._add_step(passage, score, previous_ranks[passage.id], rank)
            for rank, (passage, score) in enumerate(ordered, start=1)
        ]
        return {"passages": [*reranked, *tail], "notes": []}

    def _add_step(self, passage: Passage, score: float | None, before: int, after: int) -> Passage:
        details = {"by": self._name, "rank_before": before, "rank": after, "score": score}
        if score is None:
            return passage.with_score(passage.score, passage.score_kind, "reranker", details)
        score_kind = self.postprocessor or "cross_encoder"
        return passage.with_score(score, score_kind, "reranker", details)

    def _make_rerank_call(self, query: str, passages: Sequence[Passage]) -> RerankCall:
        loaded: Any = self._endpoint if self._loader is None else self._loader.get()
        if not self.postprocessor:
            return lambda should_stop: score_passages(loaded, query, passages, should_stop)
        return lambda should_stop: postprocess_passages(loaded, query, passages)

    def _run_within_budget(self, rerank_call: RerankCall) -> list[tuple[Passage, float | None]]:
        deadline = time.monotonic() + self.budget_ms / 1_000
        future = self._executor.submit(rerank_call, lambda: time.monotonic() > deadline)
        try:
            return future.result(timeout=max(0, deadline - time.monotonic()))
        except (TimeoutError, ScoringStopped):
            future.cancel()
            raise _Skipped(
                f"Reranking took longer than {self.budget_ms} ms and was skipped."
            ) from None
        except ModelUnavailable as error:
            if self._endpoint is None:
                raise
            raise _Skipped(f"Reranking was skipped. {error.detail}") from error


def score_passages(
    encoder: CrossEncoder | RerankEndpoint,
    query: str,
    passages: Sequence[Passage],
    should_stop: Callable[[], bool],
) -> list[tuple[Passage, float | None]]:
    """Score the passages with a cross-encoder: best first, ties in their previous order."""
    texts = [get_rerank_text(passage) for passage in passages]
    scores = encoder.score(query, texts, should_stop=should_stop)
    order = sorted(range(len(scores)), key=lambda row: -scores[row])
    return [(passages[row], scores[row]) for row in order]


def make_postprocessor(name: str, options: Mapping[str, Any], top_n: int) -> Any:
    """Make a postprocessor of LlamaIndex that reranks. Raises ``ModelUnavailable``: a package or a
    model that it needs is missing."""
    with import_lock:
        from llama_index.core import postprocessor

    given = dict(options)
    if name == "SentenceTransformerRerank":
        given |= {"top_n": top_n, "trust_remote_code": False}  # the default runs a model's code
    try:
        return getattr(postprocessor, name)(**given)
    except (ImportError, OSError, ValueError) as error:
        raise ModelUnavailable(f"{name} cannot be used: {error}", field="postprocessor") from error


def postprocess_passages(
    postprocessor: Any, query: str, passages: Sequence[Passage]
) -> list[tuple[Passage, float | None]]:
    """Passages in the postprocessor's order, without those that it drops."""
    from llama_index.core.schema import NodeWithScore, TextNode

    by_id = {passage.id: passage for passage in passages}
    nodes = [
        NodeWithScore(
            node=TextNode(id_=passage.id, text=get_rerank_text(passage)), score=passage.score
        )
        for passage in passages
    ]
    found = postprocessor.postprocess_nodes(nodes, query_str=query)
    return [(by_id[node.node_id], node.score) for node in found]


def get_rerank_text(passage: Passage) -> str:
    """The text a reranker scores: document title and passage."""
    title = passage.hit.payload.get("artifact_title") or ""
    return f"{title}\n{passage.hit.passage_text}".strip()
