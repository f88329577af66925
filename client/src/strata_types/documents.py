"""Documents, their pages, sources and summaries."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from strata_types.common import (
    AnyList,
    ConceptLabel,
    Deletion,
    ErrorContent,
    HitVerdict,
    ListOptions,
    Problem,
)

Status: TypeAlias = Literal["received", "parsing", "indexing", "ready", "failed"]


class DocumentOptions(TypedDict, total=False):
    title: str | None
    external_id: str | None
    url: str | None
    metadata: Mapping[str, object] | None
    groups: Sequence[str] | None
    """Who may see it. By default a new document gets the groups of the key, and a known one keeps
    its own. An empty list: all who may read the index."""


class NewDocumentOptions(DocumentOptions, total=False):
    if_exists: Literal["keep", "replace", "refuse"] | None
    """What becomes of another document of this name with other content. By default an external id
    replaces it, and without one both are kept."""


class DocumentChanges(DocumentOptions, total=False):
    """What can change of a document without new content."""

    is_held: bool
    """Begins or ends a legal hold: only for keys with the scope `manage`."""


class TextDocument(NewDocumentOptions, total=False):
    """A document of a batch: `text` or `pages`, and optional fields."""

    text: str
    pages: list[str]


class ArtifactListOptions(ListOptions, total=False):
    status: Status | None
    title: str | None
    """A part of the title, in any case."""
    external_id: str | None
    media_type: str | None
    is_partial: bool | None
    """Whether a part of it was left out when it was read."""
    words: str | None
    """Each is in its title, file name or external id, or begins its id."""
    folder: str | None
    """How its external id or its file name begins."""
    ordering: str | None
    """`created_at`, `updated_at`, `title` or `byte_count`; descending with `-` before it."""


class ArtifactNodes(TypedDict):
    pending: int
    synced: int
    failed: int


class OcrProgress(TypedDict):
    pages_read: int
    page_count: int


class DocumentWarning(Problem):
    """What could not be read, or is not as the pages show it."""

    page_indexes: NotRequired[list[int]]
    """The pages that have it, counted from 0."""
    fix: NotRequired[str]
    """What helps, if a part of the document was not read."""


class Artifact(TypedDict):
    id: str
    index: str
    title: str
    file_name: str
    external_id: str | None
    part_of: str | None
    """Id of the ZIP or e-mail that holds it."""
    url: str
    media_type: str
    encoding: str
    """Detected encoding of a text file."""
    sha256: str
    """SHA-256 of the content as received."""
    byte_count: int
    metadata: dict[str, Any]
    groups: list[str]
    """Who may see it; empty: all who read the index."""
    is_held: bool
    """Under a legal hold: it can be neither deleted nor replaced, and never expires."""
    revision: int
    """Of the last write to it. A search with this min_revision shows that write."""
    status: Status
    error: Problem | None
    """Why it could not be read."""
    warnings: list[DocumentWarning]
    pages: int
    """Number of pages."""
    ocr: OcrProgress | None
    """How far OCR is; null while it does not read the file."""
    nodes: ArtifactNodes
    indexed_revision: int | None
    """The revision that the live build holds or is being given; null if it is not planned yet."""
    searchable_at: str | None
    """Since when searches can find it."""
    created_at: str
    updated_at: str
    near_duplicates: NotRequired[int]
    """How many other documents of its index are near copies of it."""


class ReplacedContent(TypedDict):
    """What an artifact held before a write."""

    title: str
    file_name: str
    sha256: str
    revision: int
    updated_at: str


class HitArtifact(TypedDict):
    id: str
    title: str
    external_id: str | None
    file_name: str | None
    """Of the original; empty for a text given without a file."""


class WrittenArtifact(Artifact):
    verdict: Literal["added", "unchanged", "revised"]
    replaced: ReplacedContent | None
    """The content that a new revision replaced."""


class ArtifactList(AnyList):
    results: list[Artifact]


class NearCopy(HitArtifact):
    updated_at: str


class DuplicateGroup(TypedDict):
    """Documents that are near copies of each other."""

    count: int
    documents: list[NearCopy]
    """The newest first; 50 at most."""


class DuplicateGroupList(AnyList):
    results: list[DuplicateGroup]


class PageInfo(TypedDict):
    id: str
    index: int
    """Counted from 0."""
    label: str
    """Slide title, sheet or heading."""
    char_count: int
    ocr_confidence: float | None
    """From 0 to 1, the mean of the lines that OCR read; null if the file has the text itself."""
    warnings: list[str]
    """Codes of the document's warnings about the page."""


class UnseenCount(TypedDict):
    reason: str
    """`hidden`, `deleted`, `invisible`, `colour`, `covered`, `outside` or `tiny`."""
    detail: str
    """The reason in words."""
    char_count: int


class Page(PageInfo):
    artifact_id: str
    text: str
    unseen: list[UnseenCount]
    """How much of its text cannot be seen on it, by reason."""
    unseen_start: int | None
    """Where unseen text begins in `text`; null if it is left out of it."""
    unreadable_count: int
    """Characters that are left out because the file does not say which letters they are."""


class PageList(AnyList):
    results: list[PageInfo]


class UnseenText(TypedDict):
    """Text of a page that cannot be seen on it."""

    reason: str
    text: str


class UnseenTextList(AnyList):
    results: list[UnseenText]


class ChunkQuestions(TypedDict):
    """The questions that a chunk answers."""

    chunk_id: str
    artifact_id: str
    revision: int
    """Of the last write to the artifact. A search with this min_revision shows that write."""
    questions: list[str]
    summary: str
    """In one line."""
    model_name: str
    """What wrote them; `by hand` for a person."""
    is_by_hand: bool


class PagePassage(TypedDict):
    """A chunk of a page, a question that a chunk answers, or a quote of a concept."""

    id: str
    text: str
    """A question's words stand nowhere on the page; its offsets are those of the chunk."""
    source_id: str
    start_offset: int
    """Unicode code points, in the source's text."""
    end_offset: int
    chunk_id: str | None
    """The chunk that a question is about; null for chunks and quotes."""
    verdict: HitVerdict
    concept: ConceptLabel | None
    """Whose quote it is; null for chunks and questions."""


class PagePassageList(AnyList):
    results: list[PagePassage]


class PassageBox(TypedDict):
    """In shares of the page's width and height, from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


class PassageBoxes(TypedDict):
    boxes: list[PassageBox]
    """One for each part of a line, in the order of the file."""
    are_whole_lines: bool
    """The page was read by OCR: the boxes may hold more of a line than the passage."""


class BatchVerdict(TypedDict):
    """The result of one line of a batch."""

    line: int
    """Counted from 1, blank lines included."""
    verdict: Literal["added", "unchanged", "revised", "rejected"]
    id: NotRequired[str]
    revision: NotRequired[int]
    """A search with this min_revision shows the write."""
    replaced: NotRequired[ReplacedContent | None]
    """The content that a new revision replaced."""
    error: NotRequired[ErrorContent]


class Removal(Deletion):
    parts: list[str]
    """Ids of its files, deleted with it, if it was a ZIP or an e-mail."""
    points: int | None
    """Points of all of them left in the vector store; null if it did not answer."""
    collections: dict[str, int]
    """Number of points left in each collection of its index."""
    waits_for: list[str]
    """Why copies of removed points may still exist, such as a replica that is down."""
    detail: NotRequired[str]


class Summary(TypedDict):
    """The summary of a page or an artifact in the index's newest build."""

    entity_id: str
    type: Literal["page_summary", "artifact_summary"]
    artifact_id: str
    revision: int
    """Of the artifact's last write. A search with this min_revision shows that write."""
    text: str
    model_name: str
    """`extractive`, `by hand`, or what was given."""
    is_by_hand: bool
    state: Literal["due", "written", "failed"]
    error: str | None
    input_hash: str
    written_at: str | None
    citations: list[dict[str, Any]]


# --- Parts that hits name --------------------------------------------------------------------


class HitPage(TypedDict):
    id: str
    index: int
    """Counted from 0."""


class HitSource(TypedDict):
    id: str
    ordinal: int
    """Within its artifact, counted from 0."""


# --- Sources: the parts of a page that chunks are cut from -------------------------------------


class Neighbour(TypedDict):
    """A source before or after another."""

    id: str
    ordinal: int
    heading: str
    text: str
    page: HitPage


class SourceArtifact(HitArtifact):
    index: str


class SourcePage(HitPage):
    label: str


class SourceChunk(TypedDict):
    node_id: str
    strategy: str
    chunk_index: int | None
    start_offset: int
    end_offset: int
    state: str


class Source(HitSource):
    heading: str
    text: str
    start: int
    """First character, in its page's text."""
    end: int
    content_hash: str | None
    artifact: SourceArtifact
    page: SourcePage
    chunks: list[SourceChunk]
    neighbours: list[Neighbour]
