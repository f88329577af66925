"""Documents, indexes and keys."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Status: TypeAlias = Literal["received", "parsing", "indexing", "ready", "failed"]


class TextDocument(TypedDict, total=False):
    """A document of a batch: ``text`` or ``pages``, and optional fields."""

    text: str
    pages: list[str]
    title: str | None
    external_id: str | None
    url: str | None
    metadata: Mapping[str, object] | None
    groups: list[str] | None


class AnyList(TypedDict):
    """One page of a list; ``count`` counts the whole list."""

    count: int
    next: str | None
    previous: str | None


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
    status: Status
    error: Problem | None
    warnings: list[Problem]
    pages: int  # number of pages
    nodes: ArtifactNodes
    created_at: str  # RFC 3339
    updated_at: str


class ArtifactList(AnyList):
    results: list[Artifact]


class PageInfo(TypedDict):
    id: str
    index: int  # counted from 0
    label: str
    char_count: int


class Page(PageInfo):
    artifact_id: str
    text: str


class PageList(AnyList):
    results: list[PageInfo]


class Summary(TypedDict):
    """The summary of a page or an artifact in the index's newest build."""

    entity_id: str
    type: Literal["page_summary", "artifact_summary"]
    artifact_id: str
    revision: int
    text: str
    model_name: str
    is_by_hand: bool
    state: Literal["due", "written", "failed"]
    error: str | None
    input_hash: str
    written_at: str | None
    citations: list[dict[str, Any]]


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
