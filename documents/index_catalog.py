"""The protocol through which the documents app queries the indexing app.

The documents app may not import the indexing app, which registers its catalog here when it starts.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from core.exceptions import UnknownIndex
from documents.models import ArtifactQuerySet


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """Counts of an artifact's nodes in the live build of its index, by state."""

    pending: int = 0
    synced: int = 0
    failed: int = 0
    error: dict[str, str] | None = None  # why some are not synced: ``code`` and ``detail``
    warnings: Sequence[dict[str, str]] = ()  # texts that are missing or that rules wrote instead
    revision: int | None = None  # of the artifact, when its nodes were last planned
    searchable_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PointRemoval:
    """What is left of deleted artifacts in the vector store.

    ``collections``: collection -> number of its points left. ``waits_for``: why copies of removed
    points may still exist, such as a replica that is down.
    """

    collections: dict[str, int]
    waits_for: list[str]

    @property
    def is_complete(self) -> bool:
        return not (any(self.collections.values()) or self.waits_for)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "points": sum(self.collections.values())}


class IndexCatalog(Protocol):
    def index_names(self) -> Collection[str]:
        """Names of all indexes."""

    def explain_missing_index(self, name: str) -> str | None:
        """Why there is no index of this name although its spec exists, and what to do about it."""

    def accepts_images(self, index: str) -> bool:
        """Whether the index accepts image files."""

    def ocr_languages(self, index: str) -> Sequence[str]:
        """The languages of the index's scans; none if its spec does not name them."""

    def titles_by_file(self, index: str) -> bool:
        """Whether documents that have been given no title are named by their files."""

    def holds_unseen_text(self, index: str) -> bool:
        """Whether the index also holds text that is not seen on the pages."""

    def clean_metadata(self, index: str, metadata: dict[str, Any]) -> dict[str, Any]:
        """The metadata as it is stored. Raises ``InvalidInput``: a declared field has a value that
        is not allowed."""

    def with_status(
        self, artifacts: ArtifactQuerySet, index: str | None = None
    ) -> ArtifactQuerySet:
        """Annotate ``status``: received, parsing, indexing, ready or failed. ``index``: that of all
        these artifacts, if they have one in common; it makes the query much cheaper."""

    def get_indexing_progress(
        self, artifact_ids: Iterable[UUID]
    ) -> dict[UUID, IndexingProgress]: ...

    def remove_artifact_points(self, artifact_ids: Collection[UUID], index: str) -> PointRemoval:
        """Remove the points of deleted artifacts. Raises ``StoreUnavailable``: the reconciliation
        removes them later."""


_catalog: IndexCatalog | None = None


def register_catalog(catalog: IndexCatalog) -> None:
    global _catalog
    _catalog = catalog


def get_catalog() -> IndexCatalog:
    if _catalog is None:
        raise RuntimeError("No app has registered an index catalog.")
    return _catalog


def require_index(name: str) -> None:
    """Check that an index of this name exists. Raises ``UnknownIndex``, with the names of all
    indexes: there is no such index."""
    names = get_catalog().index_names()
    if name not in names:
        raise UnknownIndex.named(name, names, get_catalog().explain_missing_index(name))
