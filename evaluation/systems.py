"""The systems an evaluation can measure: search modes and query pipelines.

Each system answers every query twice: once with the first page of ten verified hits, as a user gets
it, to measure the time; and once with a ranking as deep as the measures need.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.pipelines.declaring import find_pipeline_files
from retrieval.search import (
    MAX_ARTIFACTS,
    MAX_LIMIT,
    MAX_OFFSET,
    Hit,
    Mode,
    SearchAnswer,
    require_vectors,
)

FIRST_PAGE_SIZE = 10  # hits
RANKING_DEPTH = 100  # artifacts or pages per query, as recall@100 needs


@dataclass(frozen=True, slots=True)
class HitLocation:
    """The artifact and page of a hit. ``page_index`` is None for an artifact as a whole."""

    artifact_id: str
    page_index: int | None
    title: str
    text: str


class EvaluatedSystem(Protocol):
    @property
    def name(self) -> str: ...

    def answer_first_page(self, query: str) -> None:
        """Run the search for the first page, as a user gets it; the caller times this call."""

    def rank_locations(self, query: str) -> Iterable[HitLocation]:
        """Yield the locations of the hits, best first; a location may repeat."""


def make_system(index: str, name: str) -> EvaluatedSystem:
    """Make the system of this name. A mode takes precedence over a pipeline of the same name.

    Raises:
        InvalidInput: there is neither a mode nor a pipeline of this name.
    """
    check_system_name(name)
    return (
        SYSTEM_FACTORY_BY_MODE[name](index)
        if name in SYSTEM_FACTORY_BY_MODE
        else PipelineSystem(index, name)
    )


def check_system_name(name: str) -> None:
    """
    Raises:
        InvalidInput: there is neither a mode nor a pipeline of this name.
    """
    pipelines = find_pipeline_files()
    if name not in SYSTEM_FACTORY_BY_MODE and name not in pipelines:
        raise InvalidInput(
            f"There is no mode or pipeline named {name[:100]!r}.",
            field="systems",
            allowed=[*SYSTEM_FACTORY_BY_MODE, *pipelines],
        )


def find_answerable_modes(index: str) -> list[str]:
    """The modes that the live build of an index can answer."""
    build = IndexBuild.objects.live().filter(index=index).first()
    kinds = set(build.spec.kinds) if build else {"chunk"}
    return [name for name, needed in REQUIRED_KINDS_BY_MODE.items() if needed <= kinds]


@dataclass(frozen=True, slots=True)
class ModeSystem:
    """One ranking of hits. ``search`` is a key of ``retrieval.search_table.SEARCHES``."""

    name: str
    index: str
    mode: Mode
    search: str

    def answer_first_page(self, query: str) -> None:
        self._search(query, limit=FIRST_PAGE_SIZE)

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        """Fetch further pages while the caller reads, because the chunks of a few artifacts can
        fill a page."""
        for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
            hits = self._search(query, limit=MAX_LIMIT, offset=offset, verify=False).hits
            yield from (_location_of(hit) for hit in hits)
            if len(hits) < MAX_LIMIT:
                return

    def _search(self, query: str, **options: Any) -> SearchAnswer:
        retriever = load_retriever_class(self.search)
        answer: SearchAnswer = retriever(self.index, mode=self.mode, **options).search(query)
        require_vectors(answer.notes)
        return answer


@dataclass(frozen=True, slots=True)
class HierarchicalSystem:
    """Artifacts with their pages, at most 50."""

    name: str
    index: str

    def answer_first_page(self, query: str) -> None:
        load_retriever_class("hierarchical")(self.index).search(query)

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        retriever = load_retriever_class("hierarchical")(
            self.index, limit=MAX_ARTIFACTS, verify=False
        )
        answer = retriever.search(query)
        require_vectors(answer.notes)
        for artifact in answer.artifacts:
            indexes = [page.page_index for page in artifact.pages] or [None]
            for page_index in indexes:
                yield HitLocation(artifact.artifact_id, page_index, title=artifact.title, text="")


@dataclass(frozen=True, slots=True)
class PipelineSystem:
    """A query pipeline, run without its answer-writing step."""

    index: str
    name: str

    def answer_first_page(self, query: str) -> None:
        self._search(query, FIRST_PAGE_SIZE)

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        """Yield the first page as a user gets it, then further hits of a search with a larger
        limit, because the limit changes which hits a pipeline retrieves."""
        for limit in (FIRST_PAGE_SIZE, MAX_LIMIT):
            yield from self._search(query, limit)

    def _search(self, query: str, limit: int) -> list[HitLocation]:
        from retrieval.pipelines.running import AskRequest, find_hits  # imports Haystack

        question = AskRequest(
            index=self.index, query=query, limit=limit, pipeline=self.name, wants_answer=False
        )
        found = find_hits(question)
        require_vectors(found.notes)
        return [_location_of(passage.hit) for passage in found.passages]


def _location_of(hit: Hit) -> HitLocation:
    payload = hit.payload
    return HitLocation(
        artifact_id=payload["artifact_id"],
        page_index=payload.get("page_index"),
        title=payload.get("artifact_title") or "",
        text=_payload_text(payload),
    )


def _payload_text(payload: Mapping[str, Any]) -> str:
    for name in ("text", "summary_text", "chunk_text"):
        if text := payload.get(name):
            return str(text)
    return ""


SYSTEM_FACTORY_BY_MODE: Mapping[str, Callable[[str], EvaluatedSystem]] = {
    "dense": lambda index: ModeSystem("dense", index, Mode.DENSE, "pages"),
    "sparse": lambda index: ModeSystem("sparse", index, Mode.SPARSE, "pages"),
    "hybrid": lambda index: ModeSystem("hybrid", index, Mode.HYBRID, "pages"),
    "summaries": lambda index: ModeSystem("summaries", index, Mode.HYBRID, "summaries"),
    "questions": lambda index: ModeSystem("questions", index, Mode.HYBRID, "questions"),
    "hierarchical": lambda index: HierarchicalSystem("hierarchical", index),
}
REQUIRED_KINDS_BY_MODE: Mapping[str, set[str]] = {
    "dense": {"chunk"},
    "sparse": {"chunk"},
    "hybrid": {"chunk"},
    "summaries": {"page_summary"},
    "questions": {"question"},
    "hierarchical": {"chunk", "page_summary"},
}


def load_retriever_class(search: str) -> Any:
    """The retriever of a search. The table of searches is imported here because it imports the
    REST framework, and every command imports this module."""
    from retrieval.search_table import load_retriever

    return load_retriever(search)
