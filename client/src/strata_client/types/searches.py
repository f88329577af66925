"""Searches: options, hits and answers."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Filter: TypeAlias = Mapping[str, object]
"""Such as ``{"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}``; all_of, any_of, not nest."""

SearchKind: TypeAlias = Literal["pages", "summaries", "questions"]
Mode: TypeAlias = Literal["hybrid", "dense", "sparse"]


class AnyOptions(TypedDict, total=False):
    """Options of any search; the server chooses defaults for None."""

    limit: int | None  # 1 to 100
    filter: Filter | None
    verify: bool | None
    stale: Literal["flag", "omit"] | None
    min_revision: int | None


class RecursiveSearchOptions(AnyOptions, total=False):
    mode: Mode | None


class HierarchicalSearchOptions(RecursiveSearchOptions, total=False):
    """``limit`` counts artifacts, 1 to 50."""

    explain: bool | None


class SearchOptions(HierarchicalSearchOptions, total=False):
    offset: int | None
    min_score: float | None  # on the scale of the mode's scores


class SummarySearchOptions(SearchOptions, total=False):
    type: Literal["page_summary", "artifact_summary", "all"] | None


class HitArtifact(TypedDict):
    id: str
    title: str
    external_id: str | None
    file_name: str | None  # of the original; empty for a text given without a file


class HitPage(TypedDict):
    id: str
    index: int  # counted from 0


class HitSource(TypedDict):
    id: str
    ordinal: int  # within its artifact, counted from 0


class AnyHit(TypedDict):
    score: float
    node_id: str
    kind: str
    text: str
    verdict: Literal["exact", "stale"] | None  # None if verify is false
    artifact: HitArtifact
    metadata: dict[str, Any]
    index: NotRequired[str]  # if several indexes were searched


class SearchHit(AnyHit):
    score_kind: Literal["rrf", "cosine", "bm25"]
    explain: NotRequired[dict[str, Any]]


class ChunkFields(TypedDict):
    start_offset: int
    end_offset: int
    page: HitPage
    source: HitSource


class Hit(SearchHit, ChunkFields):
    """A chunk. Offsets count Unicode code points in the source's text."""


class SummaryHit(SearchHit):
    start_offset: None
    end_offset: None
    page: HitPage | None
    source: None
    type: Literal["page_summary", "artifact_summary"]
    entity_id: str
    artifact_id: str
    artifact_title: str
    summary_text: str
    model_name: str
    date_embedded: str | None
    page_id: NotRequired[str]
    page_index: NotRequired[int]
    page_count: NotRequired[int]


class QuestionHit(SearchHit):
    """A chunk with the best of the questions it answers. The index's declared fields are
    additional keys."""

    start_offset: int  # in the passage's text
    end_offset: int
    page: HitPage
    passage: HitSource
    source: str  # file name
    id: str  # of the question
    chunk_id: str
    question: str | None  # None: the chunk has no questions, and its own words were found
    summary: str  # of the chunk, in one line


class DroppedPoints(TypedDict):
    orphans: int
    integrity_errors: int


class StageTimes(TypedDict):
    embed: float
    search: float
    verify: float
    total: float


class AnySearchAnswer(TypedDict):
    index: str | list[str]
    build: int | list[int]
    took_ms: StageTimes
    notes: list[str]  # what the answer lacks
    dropped: DroppedPoints


class PageSearchAnswer(AnySearchAnswer):
    hits: list[Hit]


class SummarySearchAnswer(AnySearchAnswer):
    hits: list[SummaryHit]


class QuestionSearchAnswer(AnySearchAnswer):
    hits: list[QuestionHit]


class PageGroup(TypedDict):
    page_id: str
    page_index: int
    score: float
    summary_snippet: str | None
    supporting_chunks: list[Hit]


class ArtifactGroup(TypedDict):
    artifact_id: str
    artifact_title: str
    file_name: str | None
    score: float
    summary_snippet: str | None
    pages: list[PageGroup]
    index: NotRequired[str]


class HierarchicalAnswer(AnySearchAnswer):
    artifacts: list[ArtifactGroup]


# --- Structures and images -------------------------------------------------------------------


class SpaceSearchOptions(AnyOptions, total=False):
    """Options of a search that ranks artifacts in a vector space of their own."""

    offset: int | None
    min_similarity: float | None  # in that space, 0 to 1


class ImageSearchOptions(SpaceSearchOptions, total=False):
    with_text: bool | None  # rank artifacts by their passages as well


class RankedHit(Hit):
    rank: int  # of its artifact in the text search, counted from 1


class StructureMatch(TypedDict):
    node_id: str
    smiles: str  # as written in the artifact
    similarity: float
    rank: int  # counted from 1
    verdict: Literal["exact", "stale"] | None


class ImageMatch(TypedDict):
    node_id: str
    media_type: str
    sha256: str
    similarity: float
    rank: int  # counted from 1
    verdict: Literal["exact", "stale"] | None


class _SpaceHit(TypedDict):
    """An artifact, found in its own vector space, by its passages, or both."""

    score: float
    score_kind: str
    artifact: HitArtifact
    metadata: dict[str, Any]
    passage: RankedHit | None
    index: NotRequired[str]  # if several indexes were searched


class StructureHit(_SpaceHit):
    structure: StructureMatch | None


class ImageHit(_SpaceHit):
    image: ImageMatch | None


class StructureSearchAnswer(AnySearchAnswer):
    hits: list[StructureHit]


class ImageSearchAnswer(AnySearchAnswer):
    hits: list[ImageHit]


# --- Tools -----------------------------------------------------------------------------------


class Tool(TypedDict):
    """A search that a spec declares."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON schema of its arguments


class ToolAnswer(AnySearchAnswer):
    hits: list[Hit | QuestionHit]
    notes: list[str]
    filter_applied: Literal["exact", "synonym", "boost"] | None
