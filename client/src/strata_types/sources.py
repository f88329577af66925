"""Sources from which documents come by themselves."""

from typing import Literal

from typing_extensions import TypedDict

from strata_types.common import AnyList


class SourceProblem(TypedDict):
    """Why a source, or a document of it, cannot be read."""

    code: str
    detail: str


class SourceReport(TypedDict, total=False):
    """What the last full listing found, and what was done since. A count that is missing is 0."""

    listed: int
    added: int
    changed: int
    relabelled: int
    """Only groups, metadata, title or URL differ."""
    unchanged: int
    missing: int
    """Known documents that the listing lacked."""
    stored: int
    """New documents that were added."""
    revised: int
    renamed: int
    touched: int
    """Fetched again with the same content."""
    removed: int
    failed: int
    """Attempts that failed."""
    bytes: int
    """That were fetched."""


class DocumentSource(TypedDict):
    name: str
    type: str
    """Empty if the spec no longer names it."""
    place: str
    """Where it is, without credentials."""
    every: str | None
    """How often it is listed; null if only when somebody asks."""
    health: Literal[
        "well", "new", "working", "stalled", "failing", "waiting", "paused", "undeclared"
    ]
    """`waiting`: many documents are missing, and a person has to confirm that they are gone."""
    problem: SourceProblem | None
    listed_at: str | None
    """When it was last listed in full."""
    finished_at: str | None
    """When nothing was left to do after that."""
    next_listing_at: str | None
    waits_until: str | None
    """Nothing is asked of it before: it failed, or said when to come again."""
    waiting_removals: int
    """Documents whose removal waits for a person."""
    entries: dict[str, int]
    """How many documents are in each state."""
    report: SourceReport


class DocumentSourceList(AnyList):
    results: list[DocumentSource]


class SourceEntry(TypedDict):
    path: str
    state: Literal["new", "due", "current", "failed", "missing", "removing"]
    artifact_id: str | None
    byte_count: int | None
    missing_since: str | None
    attempts: int
    next_attempt_at: str
    problem: SourceProblem | None


class SourceEntryList(AnyList):
    results: list[SourceEntry]


class SourceChanges(TypedDict):
    count: int
    bytes: int
    paths: list[str]
    """The first of them."""


class SourcePreview(TypedDict):
    """What a run would do now. What is removed needs two listings that agree."""

    added: SourceChanges
    changed: SourceChanges
    relabelled: SourceChanges
    renamed: SourceChanges
    removed: SourceChanges
    unchanged: SourceChanges


class ConfirmedRemovals(TypedDict):
    confirmed: int
    """Documents that are removed unless the next listing has them."""
