"""What can be measured: the modes of search, and query pipelines.

A system answers a query twice over: with a first page of ten, verified, as a user asks for it,
and with as long a ranking as measures look at.
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
    HierarchicalRequest,
    Hit,
    Mode,
    SearchAnswer,
    SearchRequest,
    search_chunks,
    search_hierarchical,
    search_questions,
    search_summaries,
)

FIRST_PAGE = 10  # hits
RANKED = 100  # artifacts or pages of a query: what recall@100 looks at


@dataclass(frozen=True, slots=True)
class Place:
    """What a hit is of. ``page_index`` is None for an artifact as a whole."""

    artifact_id: str
    page_index: int | None
    title: str
    text: str


class System(Protocol):
    @property
    def name(self) -> str: ...

    def ask(self, query: str) -> None:
        """Answer as a user is answered; how long that takes is measured."""

    def rank(self, query: str) -> Iterable[Place]:
        """Where the hits are, best first; a place may come again."""


def make_system(index: str, name: str) -> System:
    """A mode before a pipeline of the same name.

    Raises:
        InvalidInput: there is neither.
    """
    require_system(name)
    return MODES[name](index) if name in MODES else PipelineSystem(index, name)


def require_system(name: str) -> None:
    """
    Raises:
        InvalidInput: there is neither a mode nor a pipeline of this name.
    """
    pipelines = find_pipeline_files()
    if name not in MODES and name not in pipelines:
        raise InvalidInput(
            f"There is neither a mode nor a pipeline named {name[:100]!r}.",
            field="systems",
            allowed=[*MODES, *pipelines],
        )


def modes_of(index: str) -> list[str]:
    """The modes that the live build of an index can answer."""
    build = IndexBuild.objects.live().filter(index=index).first()
    kinds = set(build.spec.kinds) if build else {"chunk"}
    return [name for name, needed in KINDS_OF_MODES.items() if needed <= kinds]


@dataclass(frozen=True, slots=True)
class FlatSystem:
    """One ranking of hits."""

    name: str
    index: str
    mode: Mode
    search: Callable[[SearchRequest], SearchAnswer]

    def ask(self, query: str) -> None:
        self.search(self._request(query, limit=FIRST_PAGE))

    def rank(self, query: str) -> Iterator[Place]:
        """Pages on for as long as anyone reads: a few artifacts can fill a page with chunks."""
        for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
            hits = self.search(
                self._request(query, limit=MAX_LIMIT, offset=offset, verify=False)
            ).hits
            yield from (_place_of(hit) for hit in hits)
            if len(hits) < MAX_LIMIT:
                return

    def _request(self, query: str, **given: Any) -> SearchRequest:
        return SearchRequest(indexes=[self.index], query=query, mode=self.mode, **given)


@dataclass(frozen=True, slots=True)
class HierarchicalSystem:
    """Artifacts with their pages, 50 at most."""

    name: str
    index: str

    def ask(self, query: str) -> None:
        search_hierarchical(HierarchicalRequest(indexes=[self.index], query=query))

    def rank(self, query: str) -> Iterator[Place]:
        request = HierarchicalRequest(
            indexes=[self.index], query=query, limit=MAX_ARTIFACTS, verify=False
        )
        for artifact in search_hierarchical(request).artifacts:
            indexes = [page.page_index for page in artifact.pages] or [None]
            for page_index in indexes:
                yield Place(artifact.artifact_id, page_index, title=artifact.title, text="")


@dataclass(frozen=True, slots=True)
class PipelineSystem:
    """A query pipeline, up to where its answer would be written."""

    index: str
    name: str

    def ask(self, query: str) -> None:
        self._find(query, FIRST_PAGE)

    def rank(self, query: str) -> Iterator[Place]:
        """The first page as a user gets it, then what a longer answer adds: how many are asked
        for is part of what a pipeline goes by."""
        for limit in (FIRST_PAGE, MAX_LIMIT):
            yield from self._find(query, limit)

    def _find(self, query: str, limit: int) -> list[Place]:
        from retrieval.pipelines.running import AskRequest, find_hits  # brings Haystack along

        question = AskRequest(
            index=self.index, query=query, limit=limit, pipeline=self.name, wants_answer=False
        )
        return [_place_of(passage.hit) for passage in find_hits(question).passages]


def _place_of(hit: Hit) -> Place:
    payload = hit.payload
    return Place(
        artifact_id=payload["artifact_id"],
        page_index=payload.get("page_index"),
        title=payload.get("artifact_title") or "",
        text=_text_of(payload),
    )


def _text_of(payload: Mapping[str, Any]) -> str:
    for name in ("text", "summary_text", "chunk_text"):
        if text := payload.get(name):
            return str(text)
    return ""


MODES: Mapping[str, Callable[[str], System]] = {
    "dense": lambda index: FlatSystem("dense", index, Mode.DENSE, search_chunks),
    "sparse": lambda index: FlatSystem("sparse", index, Mode.SPARSE, search_chunks),
    "hybrid": lambda index: FlatSystem("hybrid", index, Mode.HYBRID, search_chunks),
    "summaries": lambda index: FlatSystem("summaries", index, Mode.HYBRID, search_summaries),
    "questions": lambda index: FlatSystem("questions", index, Mode.HYBRID, search_questions),
    "hierarchical": lambda index: HierarchicalSystem("hierarchical", index),
}
KINDS_OF_MODES: Mapping[str, set[str]] = {
    "dense": {"chunk"},
    "sparse": {"chunk"},
    "hybrid": {"chunk"},
    "summaries": {"page_summary"},
    "questions": {"question"},
    "hierarchical": {"chunk", "page_summary"},
}
