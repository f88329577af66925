"""The types of requests and responses, as in the server's OpenAPI document.

Responses are the server's unchanged JSON, which may hold fields of newer servers. Therefore these
are TypedDicts, not dataclasses or pydantic models.
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Filter: TypeAlias = Mapping[str, object]
"""Such as ``{"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}``; all_of, any_of, not nest."""

SearchKind: TypeAlias = Literal["pages", "summaries", "questions"]
Mode: TypeAlias = Literal["hybrid", "dense", "sparse"]

# --- Documents -------------------------------------------------------------------------------


class TextDocument(TypedDict, total=False):
    """A document of a batch: ``text`` or ``pages``, and optional fields."""

    text: str
    pages: list[str]
    title: str | None
    external_id: str | None
    url: str | None
    metadata: Mapping[str, object] | None
    groups: list[str] | None


class Problem(TypedDict):
    """Why an artifact could not be read, or a warning about it."""

    code: str
    detail: str


class ArtifactNodes(TypedDict):
    pending: int
    synced: int
    failed: int


class Artifact(TypedDict):
    id: str
    index: str
    title: str
    file_name: str
    external_id: str | None
    url: str
    media_type: str
    encoding: str
    sha256: str  # of the original content
    metadata: dict[str, Any]
    groups: list[str]
    revision: int  # a search with it as min_revision shows this write
    status: Literal["received", "parsing", "indexing", "ready", "failed"]
    error: Problem | None
    warnings: list[Problem]
    pages: int  # number of pages
    nodes: ArtifactNodes
    created_at: str  # RFC 3339
    updated_at: str


class LineError(TypedDict):
    code: str
    detail: str
    field: NotRequired[str]
    allowed: NotRequired[list[str]]
    fix: NotRequired[str]


class BatchVerdict(TypedDict):
    """The result for one document of a batch."""

    line: int  # its position in the batch, counted from 1
    verdict: Literal["added", "unchanged", "revised", "rejected"]
    id: NotRequired[str]
    revision: NotRequired[int]
    error: NotRequired[LineError]


class Removal(TypedDict):
    id: str
    deleted: bool
    revision: int
    points: int | None  # points left in the vector store; None if it did not respond
    collections: dict[str, int]
    waits_for: list[str]  # why copies of removed points may still exist
    detail: NotRequired[str]


# --- Keys ------------------------------------------------------------------------------------

Scope = Literal["search", "write", "manage"]


class Key(TypedDict):
    id: int
    name: str
    prefix: str  # start of the secret
    scope: Scope
    indexes: list[str] | None  # None: all
    groups: list[str] | None  # None: all documents
    state: Literal["active", "expired", "revoked"]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class NewKey(Key):
    secret: str


# --- Indexes ---------------------------------------------------------------------------------


class IndexRemoval(TypedDict):
    index: str
    deleted: bool
    points: int | None  # points left in the vector store; None if it did not respond
    artifact_count: NotRequired[int]
    node_count: NotRequired[int]
    build_count: NotRequired[int]
    collections: NotRequired[dict[str, int]]
    has_spec: NotRequired[bool]
    detail: NotRequired[str]


class NodeCounts(TypedDict):
    pending: int
    synced: int
    failed: int
    deleting: int


class Index(TypedDict):
    name: str
    title: str
    description: str
    build: int
    search_settings: int | None
    kinds: list[str]
    nodes: NodeCounts
    artifacts: int
    artifacts_waiting: int
    artifacts_failed: int
    oldest_pending_seconds: float | None
    problem: str | None


# --- Searches --------------------------------------------------------------------------------


class SearchOptions(TypedDict, total=False):
    """Options of any search; the server chooses defaults for None."""

    mode: Mode | None
    limit: int | None  # 1 to 100
    offset: int | None
    filter: Filter | None
    min_score: float | None  # on the scale of the mode's scores
    verify: bool | None
    stale: Literal["flag", "omit"] | None
    explain: bool | None
    min_revision: int | None


class SummarySearchOptions(SearchOptions, total=False):
    type: Literal["page_summary", "artifact_summary", "all"] | None


class HierarchicalSearchOptions(TypedDict, total=False):
    mode: Mode | None
    limit: int | None  # artifacts, 1 to 50
    filter: Filter | None
    verify: bool | None
    stale: Literal["flag", "omit"] | None
    explain: bool | None
    min_revision: int | None


class HitArtifact(TypedDict):
    id: str
    title: str
    external_id: str | None


class HitPage(TypedDict):
    id: str
    index: int  # counted from 0


class HitSource(TypedDict):
    id: str
    ordinal: int  # within its artifact, counted from 0


class _AnyHit(TypedDict):
    score: float
    node_id: str
    kind: str
    text: str
    verdict: Literal["exact", "stale"] | None  # None if verify is false
    artifact: HitArtifact
    metadata: dict[str, Any]
    index: NotRequired[str]  # if several indexes were searched


class _SearchHit(_AnyHit):
    score_kind: Literal["rrf", "cosine", "bm25"]
    explain: NotRequired[dict[str, Any]]


class _ChunkFields(TypedDict):
    start_offset: int
    end_offset: int
    page: HitPage
    source: HitSource


class Hit(_SearchHit, _ChunkFields):
    """A chunk. Offsets count Unicode code points in the source's text."""


class AnswerHit(_AnyHit, _ChunkFields):
    """A chunk that an answer may cite. If the index holds questions and no chunks, it has the
    fields of a ``QuestionHit`` instead."""

    score_kind: str  # of the component that ranked it last
    similarity: float | None  # cosine to the question
    explain: NotRequired[list[dict[str, Any]]]


class SummaryHit(_SearchHit):
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


class QuestionHit(_SearchHit):
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


class _AnySearchAnswer(TypedDict):
    index: str | list[str]
    build: int | list[int]
    took_ms: StageTimes
    dropped: DroppedPoints


class PageSearchAnswer(_AnySearchAnswer):
    hits: list[Hit]


class SummarySearchAnswer(_AnySearchAnswer):
    hits: list[SummaryHit]


class QuestionSearchAnswer(_AnySearchAnswer):
    hits: list[QuestionHit]
    notes: list[str]  # what the answer lacks, and which setting brings it


class PageGroup(TypedDict):
    page_id: str
    page_index: int
    score: float
    summary_snippet: str | None
    supporting_chunks: list[Hit]


class ArtifactGroup(TypedDict):
    artifact_id: str
    artifact_title: str
    score: float
    summary_snippet: str | None
    pages: list[PageGroup]
    index: NotRequired[str]


class HierarchicalAnswer(_AnySearchAnswer):
    artifacts: list[ArtifactGroup]


# --- Questions -------------------------------------------------------------------------------


class Citation(TypedDict):
    """A sentence of an answer and the words of a source that support it."""

    number: int  # of the hit, counted from 1
    answer_start: int
    answer_end: int
    node_id: str
    artifact_id: str
    source_id: str
    start_offset: int
    end_offset: int


class Refusal(TypedDict):
    """The reason why an irrelevant question is not answered."""

    detail: str
    fix: str | None


class AnswerMetadata(TypedDict):
    """What was found, before an answer is written."""

    index: str
    build: int | None
    pipeline: str
    relevant: bool
    refusal: Refusal | None
    hits: list[AnswerHit]
    filters: dict[str, Any] | None
    parsed: dict[str, Any]
    query: str
    queries: list[str]
    identified: list[dict[str, Any]]
    notes: list[str]
    dropped: DroppedPoints
    took_ms: dict[str, float]
    why_not: NotRequired[dict[str, Any]]
    restarted: NotRequired[bool]


class AnswerEnd(TypedDict):
    """The citations of an answer and its author."""

    citations: list[Citation]
    unknown_marks: int  # citation marks of the answer that name no hit
    model_name: str | None  # ``extractive`` if the sentences are quoted from documents


class Answer(AnswerMetadata, AnswerEnd):
    """A complete answer."""

    answer: str | None


# --- Evidence --------------------------------------------------------------------------------


class EvidenceCitation(TypedDict, total=False):
    source: str
    title: str
    date: str
    authors: list[str]


class EvidenceItem(TypedDict):
    url: str  # its identity in the index
    content: str
    citation: NotRequired[EvidenceCitation]


class EvidenceVerdict(TypedDict):
    url: str
    verdict: Literal["added", "duplicate", "updated", "rejected"]
    artifact_id: NotRequired[str]  # of the finding; for a duplicate, of the stored one
    revision: NotRequired[int]
    duplicate_of: NotRequired[str]
    similarity: NotRequired[float]  # to ``duplicate_of``
    error: NotRequired[LineError]  # why it was rejected


class EvidenceReference(TypedDict):
    url: str
    content: str
    citation: EvidenceCitation
    similarity: float
    added_at: str


class EvidenceHit(Hit):
    url: str
    content: str
    citation: EvidenceCitation
    similarity: float
    references: list[EvidenceReference]  # findings that repeat it


class EvidenceAnswer(_AnySearchAnswer):
    hits: list[EvidenceHit]
