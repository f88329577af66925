"""Removes the data of an artifact, a retired build or a whole index, and erases deleted text."""

import logging
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.dispatch import Signal
from django.utils import timezone

from core.exceptions import StrataError, UnknownIndex
from documents.exceptions import DocumentHeld, UnknownArtifact
from documents.index_catalog import PointRemoval
from documents.models import Artifact, PendingRevision
from documents.services import remove_artifact
from indexing.models import Index, IndexBuild, Node
from indexing.services import delete_removed_nodes, plan_nodes
from indexing.spec.loaded import has_spec_file
from indexing.stores import get_store
from indexing.stores.base import Match

logger = logging.getLogger(__name__)

# Sent with ``index``, its name, and ``deadline``, on the monotonic clock. Receivers in other apps
# delete their rows of the index; the signal is sent again if the deadline was too short.
index_removal = Signal()

ROWS_PER_STATEMENT = 5_000  # of a build, removed at once: takes at most a second
LATE_WRITE_SECONDS = 3_600  # by then no worker still writes to a removed build
ARTIFACT_BATCH_SIZE = 100  # artifacts removed between two checks of the deadline
WAIT_SECONDS = 10  # for a worker that is writing these nodes; it releases them after its batch


def remove_artifact_points(artifact_ids: Collection[UUID], index: str) -> PointRemoval:
    """Remove the nodes and points of deleted artifacts from every build of their index, then count
    the points left: none, unless there are too many for ``WAIT_SECONDS`` or a worker holds them for
    longer.

    Raises:
        StoreUnavailable: the rows stay `deleting`; the next reconciliation removes their
            points.
    """
    assert not Artifact.objects.filter(pk__in=artifact_ids).exists()
    builds = list(IndexBuild.objects.filter(index=index, removed_at=None))
    deadline = time.monotonic() + WAIT_SECONDS
    for artifact_id in artifact_ids:
        for build in builds:
            plan_nodes(artifact_id, build)  # marks them all for deletion
        while Node.objects.filter(artifact=artifact_id).exists() and time.monotonic() < deadline:
            if not sum(delete_removed_nodes(build, artifact_id) for build in builds):
                time.sleep(0.05)
        if time.monotonic() >= deadline:
            break
    store, of_artifacts = get_store(), Match("artifact_id", list(map(str, artifact_ids)))
    collections = [collection for build in builds for collection in build.collections()]
    return PointRemoval(
        {collection: store.count(collection, of_artifacts) for collection in collections},
        _find_lagging_replicas(collections),
    )


def _find_lagging_replicas(collections: Iterable[str]) -> list[str]:
    """Read after the removal: a replica that missed it has not been active since then."""
    return [
        f"{collection}: {replica}"
        for collection in collections
        for replica in get_store().find_lagging_replicas(collection)
    ]


def remove_expired_artifacts(*, timeout_seconds: float = WAIT_SECONDS) -> bool:
    """Delete the documents that have not changed for the ``keep_days`` of their index, as a request
    deletes them; those under a legal hold stay. Return whether some are left for another call."""
    deadline = time.monotonic() + timeout_seconds
    for build in IndexBuild.objects.live().readable():
        if build.spec.keep_days is None:
            continue
        oldest = timezone.now() - timedelta(days=build.spec.keep_days)
        expired = (
            Artifact.objects.removable()
            .filter(index=build.index_id, updated_at__lt=oldest, part_of=None)
            .order_by("updated_at")
        )
        for artifact_id in expired.values_list("pk", flat=True)[:ARTIFACT_BATCH_SIZE]:
            with transaction.atomic():
                if expired.select_for_update().filter(pk=artifact_id).first() is None:
                    continue  # deleted, changed or held meanwhile
                parts = Artifact.objects.filter(part_of=artifact_id)
                removed_ids = [artifact_id, *parts.values_list("pk", flat=True)]
                revision = remove_artifact(artifact_id)
            try:
                receipt: Any = remove_artifact_points(removed_ids, build.index_id).as_json()
            except StrataError as error:
                receipt = f"its points are not removed yet: {error}"
            logger.info(
                "Deleted %s of %s, which expired, with revision %d: %s",
                artifact_id, build.index_id, revision, receipt,
            )  # fmt: skip
            if time.monotonic() >= deadline:
                return True
        if expired.exists():
            return True
    return False


# --- A retired build -------------------------------------------------------------------------


def delete_build_data(build: IndexBuild) -> None:
    """Drop the collections of a retired build and delete its rows; safe to call again. Raises
    ``StoreUnavailable``: calling again continues where this ended."""
    store = get_store()
    for collection in build.collections():
        store.drop_collection(collection)
    # Rows of every app that refer to the build; one-to-one rows about it, such as its cost, stay.
    for relation in IndexBuild._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ManyToOneRel) or relation.one_to_one:
            continue
        rows = relation.related_model._base_manager.filter(**{relation.field.name: build})
        while ids := list(rows.values_list("pk", flat=True)[:ROWS_PER_STATEMENT]):
            rows.model._base_manager.filter(pk__in=ids).delete()
    IndexBuild.objects.filter(pk=build.pk, removed_at=None).update(removed_at=timezone.now())


# --- A whole index ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IndexRemovalReceipt:
    """What is left of an index whose removal was requested; points are counted in the store."""

    index: str
    artifact_count: int  # still to be removed
    node_count: int
    build_count: int  # builds that it had
    collections: dict[str, int]  # collections of every build -> points left
    waits_for: list[str]  # why copies of removed points may still exist
    has_spec: bool

    @property
    def is_complete(self) -> bool:
        points_left = any(self.collections.values()) or self.waits_for
        return not (self.artifact_count or self.node_count or points_left)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "points": sum(self.collections.values())}


def remove_index(name: str, *, timeout_seconds: float = WAIT_SECONDS) -> IndexRemovalReceipt:
    """Remove an index: its builds with their points and rows, its documents and originals.

    The index stops accepting writes and searches at once. What is not removed within
    ``timeout_seconds`` is removed by later reconciliations. Calling again continues the removal.

    Raises:
        UnknownIndex: there is no such index.
        DocumentHeld: a document of it is under a legal hold.
        StoreUnavailable: searches no longer find it; the next reconciliation removes its points.
    """
    _begin_removal(name)
    index = Index.objects.get(pk=name)
    _continue_removal(index, time.monotonic() + timeout_seconds)
    return _make_receipt(index)


def continue_removals() -> None:
    """Continue requested removals, and delete the rows of indexes that are completely removed.
    Raises ``StoreUnavailable``: the next reconciliation tries again."""
    deadline = time.monotonic() + WAIT_SECONDS
    for index in Index.objects.exclude(removal_requested_at=None):
        _continue_removal(index, deadline)
        late_write_limit = timezone.now() - timedelta(seconds=LATE_WRITE_SECONDS)
        unfinished_builds = index.builds.filter(removed_at=None) | index.builds.filter(
            removed_at__gt=late_write_limit
        )
        # Until then build numbers must not be reused: a late write may create a collection again.
        if not unfinished_builds.exists() and not Artifact.objects.filter(index=index.pk).exists():
            index.delete()


def _begin_removal(name: str) -> None:
    with transaction.atomic():
        index = Index.objects.select_for_update().filter(pk=name).first()
        if index is None:
            names = Index.objects.not_being_removed().values_list("name", flat=True)
            raise UnknownIndex.named(name, names)
        if index.removal_requested_at is not None:
            return
        if held_count := Artifact.objects.filter(index=name, is_held=True).count():
            raise DocumentHeld(
                f"The index {name} cannot be removed: {held_count} of its documents are under a "
                "legal hold."
            )
        index.removal_requested_at, index.live_build = timezone.now(), None
        index.save(update_fields=["removal_requested_at", "live_build"])
        index.builds.exclude(state=IndexBuild.State.RETIRED).retire()


def _continue_removal(index: Index, deadline: float) -> None:
    store = get_store()
    for build in index.builds.all():
        delete_build_data(build)
        spec, aliases = build.spec, store.aliases()
        build_aliases = {spec.collection_alias(kind): build.collection(kind) for kind in spec.kinds}
        aliases_to_drop = [
            alias for alias, collection in build_aliases.items() if aliases.get(alias) == collection
        ]
        if aliases_to_drop:
            store.switch_aliases(dict.fromkeys(aliases_to_drop))
    index_removal.send(Index, index=index.pk, deadline=deadline)
    # A hold that began after the removal keeps its document, and so the index, until it ends.
    artifacts = Artifact.objects.removable().filter(index=index.pk).order_by("pk")
    while ids := list(artifacts.values_list("pk", flat=True)[:ARTIFACT_BATCH_SIZE]):
        for artifact_id in ids:
            with suppress(UnknownArtifact, DocumentHeld):
                remove_artifact(artifact_id)
        if time.monotonic() >= deadline:
            return
    PendingRevision.objects.filter(index=index.pk).delete()


def _make_receipt(index: Index) -> IndexRemovalReceipt:
    builds = list(index.builds.all())
    store = get_store()
    collections = [collection for build in builds for collection in build.collections()]
    return IndexRemovalReceipt(
        index=index.pk,
        artifact_count=Artifact.objects.filter(index=index.pk).count(),
        node_count=Node.objects.filter(build__in=builds).count(),
        build_count=len(builds),
        collections={collection: store.count(collection) for collection in collections},
        waits_for=_find_lagging_replicas(collections),
        has_spec=has_spec_file(index.pk),
    )


# --- Files of the embedded form --------------------------------------------------------------


def erase_deleted() -> None:
    """Rewrite the collections in which something was deleted ``STRATA_ERASE_SECONDS`` ago, and
    empty SQLite's write-ahead log, which holds earlier versions of rows. SQLite overwrites deleted
    rows by itself (``secure_delete``), and servers have their own vacuum.

    Raises:
        StoreUnavailable, DiskFull: the next call tries again.
    """
    deleted_before = timezone.now() - timedelta(seconds=settings.STRATA_ERASE_SECONDS)
    for collection in get_store().erase_deleted(deleted_before):
        logger.info("Erased what was deleted in %s.", collection)
    if Path(f"{connection.settings_dict['NAME']}-wal").exists():  # SQLite's log
        with connection.cursor() as cursor:
            # Does nothing while others read; the next call tries again.
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
