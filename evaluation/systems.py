"""The systems an evaluation can measure: search modes and query pipelines.

Each system answers every query twice: once with the first page of ten verified hits, as a user gets
it, to measure the time; and once with a ranking as deep as the measures need.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.hooks import find_pipelines
from retrieval.search import MAX_ARTIFACTS, MAX_LIMIT, MAX_OFFSET, Hit, Mode, require_vectors

FIRST_PAGE_SIZE = 10  # hits
RANKING_DEPTH = 100  # artifacts or pages per query, as recall@100 needs


@dataclass(frozen=True, slots=True)
class HitLocation:
    """The artifact and page of a hit. ``page_index`` is None for an artifact as a whole."""

    artifact_id: str
    page_index: int | None
    title: str
    text: str


class SearchMode(NamedTuple):
    """``search`` is a key of ``SEARCHES``; ``kinds`` are those of the nodes that it needs."""

    search: str
    mode: Mode
    kinds: set[str]


SEARCH_MODES = {
    "dense": SearchMode("pages", Mode.DENSE, {"chunk"}),
    "sparse": SearchMode("pages", Mode.SPARSE, {"chunk"}),
    "hybrid": SearchMode("pages", Mode.HYBRID, {"chunk"}),
    "summaries": SearchMode("summaries", Mode.HYBRID, {"page_summary"}),
    "questions": SearchMode("questions", Mode.HYBRID, {"question"}),
    "hierarchical": SearchMode("hierarchical", Mode.HYBRID, {"chunk", "page_summary"}),
}


def check_system_name(name: str) -> None:
    """Check the name of a system that a run may measure. Raises ``InvalidInput``: there is neither
    a mode nor a pipeline of this name."""
    names = [*SEARCH_MODES, *find_pipelines()]
    if name not in names:
        raise InvalidInput(
            f"There is no mode or pipeline named {name[:100]!r}.", field="systems", allowed=names
        )


def find_answerable_modes(index: str) -> list[str]:
    """The modes that the live build of an index can answer."""
    build = IndexBuild.objects.live().filter(index=index).first()
    kinds = set(build.spec.kinds) if build else {"chunk"}
    return [name for name, mode in SEARCH_MODES.items() if mode.kinds <= kinds]


@dataclass(frozen=True, slots=True)
class ModeSystem:
    """One ranking of hits. ``index``: a build, or the name of an index to search its live build."""

    name: str
    index: str | IndexBuild

    def answer_first_page(self, query: str) -> None:
        """Run the search for the first page, as a user gets it; the caller times this call."""
        self._search(query, limit=FIRST_PAGE_SIZE)

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        """Yield the locations of the hits, best first; a location may repeat. Fetch further pages
        while the caller reads, because the chunks of a few artifacts can fill a page."""
        for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
            hits = self._search(query, limit=MAX_LIMIT, offset=offset, verify=False).hits
            yield from (_location_of(hit) for hit in hits)
            if len(hits) < MAX_LIMIT:
                return

    def _search(self, query: str, **options: Any) -> Any:
        # It imports the REST framework, and every command imports this module.
        from retrieval.all_searches import load_retriever

        search, mode, _ = SEARCH_MODES[self.name]
        answer = load_retriever(search)(self.index, mode=mode, **options).search(query)
        require_vectors(answer.notes)
        return answer


class HierarchicalSystem(ModeSystem):
    """Artifacts with their pages, at most 50."""

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        for artifact in self._search(query, limit=MAX_ARTIFACTS, verify=False).artifacts:
            for page_index in [page.page_index for page in artifact.pages] or [None]:
                yield HitLocation(artifact.artifact_id, page_index, title=artifact.title, text="")


@dataclass(frozen=True, slots=True)
class PipelineSystem:
    """A query pipeline, run without its answer-writing step."""

    name: str
    index: str

    def answer_first_page(self, query: str) -> None:
        self._search(query, FIRST_PAGE_SIZE)

    def rank_locations(self, query: str) -> Iterator[HitLocation]:
        """Yield the first page as a user gets it, then further hits of a search with a larger
        limit, because the limit changes which hits a pipeline retrieves."""
        for limit in (FIRST_PAGE_SIZE, MAX_LIMIT):
            yield from self._search(query, limit)

    def _search(self, query: str, limit: int) -> list[HitLocation]:
        pipelines = find_pipelines()[self.name]
        hits, notes = pipelines.find_hits(self.index, query, pipeline=self.name, limit=limit)
        require_vectors(notes)
        return [_location_of(hit) for hit in hits]


EvaluatedSystem = ModeSystem | PipelineSystem


def make_system(index: str, name: str) -> EvaluatedSystem:
    """Make the system of this name. A mode takes precedence over a pipeline of the same name.
    Raises ``InvalidInput``: there is neither a mode nor a pipeline of this name."""
    check_system_name(name)
    if name == "hierarchical":
        return HierarchicalSystem(name, index)
    return ModeSystem(name, index) if name in SEARCH_MODES else PipelineSystem(name, index)


def _location_of(hit: Hit) -> HitLocation:
    payload = hit.payload
    texts = (payload.get(name) for name in ("text", "summary_text", "chunk_text"))
    return HitLocation(
        artifact_id=payload["artifact_id"],
        page_index=payload.get("page_index"),
        title=payload.get("artifact_title") or "",
        text=next(filter(None, texts), ""),
    )
