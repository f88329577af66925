"""Indexes: their state, builds, verification and regeneration."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from strata_types.common import AnyList


class NodeCounts(TypedDict):
    pending: int
    synced: int
    failed: int
    deleting: int


class MetadataField(TypedDict):
    """A field that the spec declares: documents may have it, and filters may name it."""

    name: str
    type: Literal["keyword", "integer", "float", "bool", "datetime", "text"]
    many: bool
    """Whether a document may have a list of values."""
    values: list[str]
    closed: bool
    """Whether no other values are allowed."""
    description: str


class Index(TypedDict):
    name: str
    title: str
    description: str
    build: int
    search_settings: int | None
    """The number of the current search settings; each change increments it."""
    kinds: list[str]
    """The kinds of node it contains."""
    metadata: list[MetadataField]
    nodes: NodeCounts
    artifacts: int
    artifacts_waiting: int
    artifacts_failed: int
    artifacts_partial: int
    """Those of which a part was left out when they were read."""
    oldest_pending_seconds: float | None
    problem: str | None
    """Why it cannot sync at the moment."""


class IndexList(AnyList):
    results: list[Index]


class IndexRemoval(TypedDict):
    index: str
    deleted: bool
    points: int | None
    """Points left in the vector store; null if it did not answer."""
    collections: NotRequired[dict[str, int]]
    waits_for: NotRequired[list[str]]
    """Why copies of removed points may still exist, such as a replica that is down."""
    artifact_count: NotRequired[int]
    """Artifacts still to be removed."""
    node_count: NotRequired[int]
    build_count: NotRequired[int]
    has_spec: NotRequired[bool]
    detail: NotRequired[str]


# --- Builds ----------------------------------------------------------------------------------


class Build(TypedDict):
    """One index made by one version of its spec."""

    index: str
    number: int
    state: Literal["building", "live", "standby", "retired"]
    kinds: list[str]
    nodes: NodeCounts
    artifacts_missing: int
    """Artifacts that are ready in the live build but not yet in this one."""
    artifacts_unread: int
    """Artifacts that it still has to read anew."""
    artifacts_not_reread: int
    """Artifacts that it could not read anew, whose previous text it keeps."""
    embedded: int
    """Nodes whose vectors were computed for it."""
    copied: int
    """Nodes whose vectors were copied from another build."""
    promotion: Literal["manual", "when_complete", "forced"]
    comparison: dict[str, Any] | None
    """Comparison with the live build."""
    max_calls: int | None
    deadline_at: str | None
    paused_at: str | None
    pause_reason: str | None
    problem: str | None
    created_at: str
    promoted_at: str | None


class BuildList(AnyList):
    results: list[Build]


class SpecFile(TypedDict):
    index: str
    text: str
    """YAML."""
    is_editable: bool
    """Whether the service may write the file."""
    problem: str | None
    """Why the text is no valid spec."""


class StoredVector(TypedDict):
    id: str
    payload_hash: str
    """Hash of the payload that is stored with the vector."""
    vector: str | None
    """The dense vector: base64 of its components, 32-bit floats in little-endian order."""


class StoredVectors(TypedDict):
    vectors: list[StoredVector]


class KindEstimate(TypedDict):
    kept: int
    """Nodes whose vectors are copied."""
    reembedded: int
    """Nodes with the same text but new vectors."""
    rebuilt: int
    """New nodes."""
    removed: int
    """Nodes that are no longer needed."""
    texts: int
    """Texts to embed."""
    tokens: int
    """Tokens to embed."""
    calls: int
    """LLM calls."""
    prompt_tokens: int
    completion_tokens: int


class BuildEstimate(TypedDict):
    """What applying the spec would do."""

    index: str
    live_build: int | None
    changes: list[str]
    """Changes to the live build's recipe."""
    search_settings: int | None
    """The number of the current search settings; each change increments it."""
    search_changes: list[str]
    """Changes to the search settings; the live build uses them at once."""
    store_changes: list[str]
    """Changes to the store settings; applied to the collections without a new build."""
    is_free: bool
    """No stored data changes: this costs nothing."""
    open_build: int | None
    """The number of the build in progress that this spec makes; null if there is none."""
    outdated_count: int
    """Artifacts that other readers have read than would read them now; a new build reads them anew.
    The other figures are those of their old texts."""
    is_estimate: bool
    """Extrapolated from a sample of the artifacts."""
    artifact_count: int
    sampled_count: int
    kinds: dict[str, KindEstimate]
    embedding_minutes: float | None
    """At this installation's throughput; null if not measured yet."""
    writing_minutes: float | None
    disk_bytes: int


# --- Verification ----------------------------------------------------------------------------


class VerificationReport(TypedDict):
    index: str
    build: int
    is_sound: bool
    artifact_count: int
    node_count: int
    point_count: int
    failed_count: int
    repaired_count: int
    findings: dict[str, int]
    examples: dict[str, list[str]]
    remedies: dict[str, str]


class IndexVerification(VerificationReport):
    beside: list[VerificationReport]
    """Reports of the other builds."""
    warnings: list[str]
    """Texts that a language model should have written."""


class VerificationAnswer(TypedDict):
    reports: list[VerificationReport]


class RetriedWork(TypedDict):
    files: int
    """Files that are read again."""
    documents: int
    """Documents that are cut into nodes again, counted in each build."""
    texts: int
    """Summaries and questions that are written again, and sources searched for concepts again."""
    nodes: int
    """Nodes that are embedded again."""


# --- Regenerations ---------------------------------------------------------------------------


class RegenerationOptions(TypedDict, total=False):
    type: str | None
    category: str | None
    """Of relationship types."""
    index: str | None
    """None: every index."""
    artifacts: list[str] | None
    """Ids."""
    only_missing: bool | None
    stale: bool | None
    limit: int | None
    offset: int | None


class Regeneration(TypedDict):
    types: list[str]
    examined: int
    """Artifacts, concepts and relationship types."""
    due: int
    """Those of them whose nodes are made again."""
    nodes: int
    """Nodes that are embedded again, in all builds; planning may find more."""


class WaitingWork(TypedDict):
    work: str
    """Such as `reading files` and `embedding`."""
    index: str | None
    """Null: it belongs to no index."""
    count: int
    oldest_seconds: int | None
    """How long the oldest has waited; null where that is not known."""


class FailedWork(TypedDict):
    """Work that was given up with the same error."""

    work: str
    index: str | None
    error: str
    count: int
    is_retryable: bool
    """False if another file must be added, such as one without a password."""


class PartState(TypedDict):
    part: str
    is_ok: bool
    detail: str


class InstallationCheck(TypedDict):
    """As `doctor` prints it. Only `doctor` checks the files of the embedding models."""

    subject: str
    is_ok: bool
    detail: str
    fix: str
    """Empty where nothing is to be done."""


class Work(TypedDict):
    """What waits, what failed, and whether each part of the service is well."""

    waiting: list[WaitingWork]
    failures: list[FailedWork]
    """The most frequent first; at most 50."""
    parts: list[PartState]
    checks: list[InstallationCheck]
    """Only for those who see all indexes."""
