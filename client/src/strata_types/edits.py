"""Edits of documents, each of one or of many."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from strata_types.common import AnyList, ErrorContent
from strata_types.documents import HitArtifact


class EditedValues(TypedDict):
    """What an edit changes of a document, before it or after it."""

    title: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    """The fields that change."""
    groups: NotRequired[list[str]]


class EditSample(HitArtifact):
    before: EditedValues
    after: EditedValues


class EditRefusal(TypedDict):
    """A document that an edit leaves as it is, and why."""

    id: str
    title: str | None
    """Null if there is no such document."""
    error: ErrorContent


class EditPreview(TypedDict):
    count: int
    """Documents that are selected."""
    changed: int
    """Documents that would change."""
    unchanged: int
    """Documents that have these values already."""
    refused: int
    sample: list[EditSample]
    """Ten at most."""
    refusals: list[EditRefusal]
    """Ten at most."""


class EditChange(TypedDict):
    """What an edit was asked to do."""

    title: NotRequired[str]
    set: NotRequired[dict[str, Any]]
    unset: NotRequired[list[str]]
    groups: NotRequired[list[str]]
    add_groups: NotRequired[list[str]]
    remove_groups: NotRequired[list[str]]
    delete: NotRequired[bool]


class Edit(TypedDict):
    id: str
    index: str
    state: Literal["waiting", "done", "undoing", "undone", "failed"]
    change: EditChange
    count: int
    """Documents that it was to change."""
    waiting: int
    changed: int
    refused: int
    undone: int
    error: str | None
    """Why it waits or has failed."""
    undo_until: str | None
    """Null: it deletes, which cannot be undone."""
    created_at: str
    finished_at: str | None


class EditDetail(Edit):
    refusals: list[EditRefusal]
    """Twenty at most."""


class EditList(AnyList):
    results: list[Edit]
