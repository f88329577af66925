"""The best of the passages looked at again, by a model that reads query and text together."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from haystack import component

from core.exceptions import InvalidInput
from core.import_lock import importing
from indexing.exceptions import ModelUnavailable
from retrieval.cross_encoders import CrossEncoder, Stopped, get_cross_encoder
from retrieval.passages import Passage, Step
from retrieval.pipelines.threads import in_threads

logger = logging.getLogger(__name__)

# LlamaIndex's postprocessors that may be named -> the options a pipeline may set.
POSTPROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "LongContextReorder": frozenset(),
    "SentenceTransformerRerank": frozenset({"model", "device"}),
    "SimilarityPostprocessor": frozenset({"similarity_cutoff"}),
}

Order = Callable[[Callable[[], bool]], list[tuple[Passage, float | None]]]


@component
@in_threads
class Reranker:
    """Orders the best ``candidates`` anew; those behind them follow as they came.

    By a cross-encoder (``model``: a name of fastembed's catalogue, or a folder) or by one of
    LlamaIndex's postprocessors (``postprocessor``, with its ``options``); by neither, everything
    passes unchanged. What is not ordered within ``budget_ms`` stays as it came, and a note says
    so; the time a model takes to load is not counted.
    """

    def __init__(
        self,
        model: str = "",
        window: int | None = None,
        postprocessor: str = "",
        options: dict[str, Any] | None = None,
        candidates: int = 50,
        budget_ms: int = 1_000,
    ) -> None:
        if model and postprocessor:
            raise InvalidInput("Name a model or a postprocessor, not both.", field="postprocessor")
        if postprocessor and postprocessor not in POSTPROCESSORS:
            raise InvalidInput(
                f"There is no postprocessor {postprocessor!r}.",
                field="postprocessor",
                allowed=POSTPROCESSORS,
            )
        for option in options or {}:
            if not postprocessor or option not in POSTPROCESSORS[postprocessor]:
                raise InvalidInput(
                    f"There is no option {option!r}.",
                    field="options",
                    allowed=POSTPROCESSORS.get(postprocessor, ()),
                )
        for name, value in (("candidates", candidates), ("budget_ms", budget_ms)):
            if value < 1:
                raise InvalidInput(f"{name} is 1 or more.", field=name)
        self.model = model
        self.window = window
        self.postprocessor = postprocessor
        self.options = options
        self.candidates = candidates
        self.budget_ms = budget_ms
        self._loading = threading.Lock()
        self._loaded: Any = None
        # One at a time: two models at work would each take twice as long.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reranker")

    def warm_up(self) -> None:
        """Load the model before a question waits for it. Raises as ``run``."""
        if self.model or self.postprocessor:
            self._get_loaded()

    @component.output_types(passages=list[Passage], notes=list[str])
    def run(self, query: str, passages: list[Passage]) -> dict[str, Any]:
        """
        Raises:
            ModelUnavailable: it is unknown, or its files or package are missing.
        """
        if not passages or not (self.model or self.postprocessor):
            return {"passages": passages, "notes": []}
        head, tail = passages[: self.candidates], passages[self.candidates :]
        order = self._prepare(query, head)
        ordered = self._within_budget(order)
        if ordered is None:
            note = f"Reranking took longer than {self.budget_ms} ms and was skipped."
            return {"passages": passages, "notes": [note]}
        places = {passage.id: rank for rank, passage in enumerate(head, start=1)}
        reranked = [
            self._mark(passage, score, places[passage.id], rank)
            for rank, (passage, score) in enumerate(ordered, start=1)
        ]
        return {"passages": [*reranked, *tail], "notes": []}

    def _mark(self, passage: Passage, score: float | None, before: int, after: int) -> Passage:
        name = self.model or self.postprocessor
        did = {"by": name, "rank_before": before, "rank": after, "score": score}
        step = Step("reranker", did)
        if score is None:
            return passage.scored(passage.score, passage.score_kind, step)
        return passage.scored(score, "cross_encoder" if self.model else name, step)

    def _prepare(self, query: str, passages: Sequence[Passage]) -> Order:
        loaded = self._get_loaded()
        if self.model:
            return lambda should_stop: score_passages(loaded, query, passages, should_stop)
        return lambda should_stop: postprocess_passages(loaded, query, passages)

    def _get_loaded(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = (
                    get_cross_encoder(self.model, self.window)
                    if self.model
                    else make_postprocessor(self.postprocessor, self.options or {}, self.candidates)
                )
            return self._loaded

    def _within_budget(self, order: Order) -> list[tuple[Passage, float | None]] | None:
        deadline = time.monotonic() + self.budget_ms / 1_000
        ordering = self._thread.submit(order, lambda: time.monotonic() > deadline)
        try:
            return ordering.result(timeout=max(0, deadline - time.monotonic()))
        except (TimeoutError, Stopped):
            ordering.cancel()
            logger.warning("Reranking took longer than %d ms and was skipped", self.budget_ms)
            return None


def score_passages(
    encoder: CrossEncoder,
    query: str,
    passages: Sequence[Passage],
    should_stop: Callable[[], bool],
) -> list[tuple[Passage, float | None]]:
    """Best first; ties as they came."""
    texts = [read_text(passage) for passage in passages]
    scores = encoder.score(query, texts, should_stop=should_stop)
    order = sorted(range(len(scores)), key=lambda row: -scores[row])
    return [(passages[row], scores[row]) for row in order]


def make_postprocessor(name: str, options: Mapping[str, Any], top_n: int) -> Any:
    """
    Raises:
        ModelUnavailable: it needs a package or a model that is not there.
    """
    with importing:
        from llama_index.core import postprocessor

    given = dict(options)
    if name == "SentenceTransformerRerank":
        given |= {"top_n": top_n, "trust_remote_code": False}  # by default a model's code is run
    try:
        return getattr(postprocessor, name)(**given)
    except (ImportError, OSError, ValueError) as error:
        raise ModelUnavailable(f"{name} cannot be used: {error}", field="postprocessor") from error


def postprocess_passages(
    postprocessor: Any, query: str, passages: Sequence[Passage]
) -> list[tuple[Passage, float | None]]:
    """As it orders them; what it leaves out is left out."""
    from llama_index.core.schema import NodeWithScore, TextNode

    by_id = {passage.id: passage for passage in passages}
    nodes = [
        NodeWithScore(node=TextNode(id_=passage.id, text=read_text(passage)), score=passage.score)
        for passage in passages
    ]
    found = postprocessor.postprocess_nodes(nodes, query_str=query)
    return [(by_id[node.node_id], node.score) for node in found]


def read_text(passage: Passage) -> str:
    """What a reranker reads: the document's title and the passage."""
    payload = passage.hit.payload
    text = payload.get("chunk_text") or payload.get("text") or ""
    return f"{payload.get('artifact_title') or ''}\n{text}".strip()
