"""Waits until searches show a write, and emits events for writes that searches now show.

A ``PendingRevision`` is created in the transaction of the write, and deleted once its artifact, or
its standalone node, is ready, failed or removed in the live build. Sync workers and the
reconciliation delete them."""

import time
from collections.abc import Sequence
from threading import BoundedSemaphore
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from core.events import announce
from documents.index_catalog import IndexingProgress, get_catalog
from documents.models import Artifact, PendingRevision
from indexing.exceptions import NotYetIndexed
from indexing.models import NOT_SYNCED, IndexedDocument, Node
from indexing.stores import get_store

REVISION_BATCH_SIZE = 200  # revisions examined together
LAST_WRITES = 50  # revisions whose points a search with ``min_revision`` requires
MAX_LAST_POINTS = 100  # Qdrant's strict mode may limit the size of a request
POLL_SECONDS = 0.05
MAX_WAITING_SEARCHES = 4  # concurrent searches: each holds a thread of the web server

_waiting_slots = BoundedSemaphore(MAX_WAITING_SEARCHES)


def wait_for_revision(index: str, build_id: int, kinds: Sequence[str], revision: int) -> None:
    """Return once the nodes of these kinds in a build show every write up to ``revision``.

    Raises:
        NotYetIndexed: they do not after ``STRATA_MIN_REVISION_SECONDS``, or too many others are
            waiting.
    """
    if is_revision_visible(index, build_id, kinds, revision):
        return
    deadline = time.monotonic() + settings.STRATA_MIN_REVISION_SECONDS
    if _waiting_slots.acquire(blocking=False):
        try:
            while time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
                if is_revision_visible(index, build_id, kinds, revision):
                    return
        finally:
            _waiting_slots.release()
    raise NotYetIndexed(
        f"The index {index} does not show revision {revision} yet.",
        field="min_revision",
        fix=f"Try again shortly; GET indexes/{index}/ shows what the index waits for.",
    )


def is_revision_visible(index: str, build_id: int, kinds: Sequence[str], revision: int) -> bool:
    """Whether all nodes of these kinds are up to date with every write up to ``revision``."""
    changed = PendingRevision.objects.filter(index=index, pk__lte=revision)
    if not changed.exists():
        return True
    ids = changed.values("changed_id")
    unread = [Artifact.State.RECEIVED, Artifact.State.PARSING]
    if Artifact.objects.filter(pk__in=ids, state__in=unread).exists():
        return False
    documents = IndexedDocument.objects.filter(build=build_id)
    if documents.filter(artifact__in=ids, state=IndexedDocument.State.DUE).exists():
        return False
    planned = documents.filter(artifact=OuterRef("pk"))
    if Artifact.objects.filter(~Exists(planned), pk__in=ids).exists():
        return False
    waiting = documents.filter(artifact__in=ids).exclude(unwritten_kinds=[])
    for unwritten_kinds in waiting.values_list("unwritten_kinds", flat=True):
        # Chunks are cut by sentences until a language model has cut them.
        if set(unwritten_kinds) & set(kinds) - {"chunk"}:
            return False
    unsynced = [Node.State.PENDING, Node.State.DELETING]
    nodes = Node.objects.made_from(ids).filter(build=build_id, kind__in=kinds)
    return not nodes.filter(state__in=unsynced).exists()


def find_last_points(index: str, build_id: int, kinds: Sequence[str], revision: int) -> list[UUID]:
    """Ids of points of the last documents written up to ``revision``, if the store is a server: a
    replica that was away lacks the last writes."""
    if not get_store().has_late_writes:
        return []
    written = Artifact.objects.filter(
        index=index, revision__gt=revision - LAST_WRITES, revision__lte=revision
    )
    nodes = Node.objects.filter(
        build=build_id, artifact__in=written, kind__in=kinds, state=Node.State.SYNCED
    )
    newest = nodes.order_by("-artifact__revision", "pk")
    return list(newest.values_list("point_id", flat=True)[:MAX_LAST_POINTS])


def complete_visible_revisions(*, limit: int | None = None) -> int:
    """Delete the revisions that searches now show, and emit their events; return how many.
    Examines the ``limit`` oldest revisions, or all."""
    visible = _find_visible_revisions()
    if limit is not None:
        oldest = PendingRevision.objects.order_by("pk").values_list("pk", flat=True)[:limit]
        visible = visible.filter(pk__in=list(oldest))
    count = last = 0
    while revisions := list(visible.filter(pk__gt=last).order_by("pk")[:REVISION_BATCH_SIZE]):
        last = revisions[-1].pk
        count += _complete_batch(revisions)
    return count


def _find_visible_revisions() -> QuerySet[PendingRevision]:
    """The database leaves out the revisions that wait: after an outage they may be many."""
    documents = IndexedDocument.objects.in_live_builds()
    finished = documents.filter(
        artifact=OuterRef("pk"),
        state__in=[IndexedDocument.State.READY, IndexedDocument.State.FAILED],
    )
    artifacts = Artifact.objects.filter(pk=OuterRef("changed_id"))
    waiting_artifacts = artifacts.filter(
        Q(state__in=[Artifact.State.RECEIVED, Artifact.State.PARSING])
        | (Q(state=Artifact.State.PARSED) & ~Exists(finished))
    )
    # Of removed artifacts and standalone nodes:
    leftovers = documents.filter(artifact=OuterRef("changed_id"))
    nodes = Node.objects.in_live_builds().filter(
        NOT_SYNCED, artifact=None, point_id=OuterRef("changed_id")
    )
    return PendingRevision.objects.filter(
        ~Exists(waiting_artifacts),
        Exists(artifacts) | ~Exists(leftovers),
        ~Exists(nodes.exclude(state=Node.State.FAILED)),
    )


def _complete_batch(revisions: Sequence[PendingRevision]) -> int:
    catalog = get_catalog()
    last_examined = {change.changed_id: revisions[-1].pk for change in revisions}
    artifacts = catalog.with_status(Artifact.objects.filter(pk__in=last_examined))
    artifacts_by_id = {artifact.pk: artifact for artifact in artifacts}
    for artifact in artifacts_by_id.values():
        if _get_status(artifact) in {"ready", "failed"}:
            last_examined[artifact.pk] = artifact.revision
        else:  # another write came meanwhile
            del last_examined[artifact.pk]
    progress_by_id = catalog.get_indexing_progress(artifacts_by_id)
    with transaction.atomic():
        pending = PendingRevision.objects.filter(changed_id__in=last_examined)
        # Only revisions that were examined: later writes must wait for their own check.
        examined = [
            change
            for change in pending.select_for_update().order_by("pk")
            if change.pk <= last_examined[change.changed_id]
        ]
        PendingRevision.objects.filter(pk__in=[change.pk for change in examined]).delete()
        for changed_id in dict.fromkeys(change.changed_id for change in examined):
            if changed_id in artifacts_by_id:
                _announce(artifacts_by_id[changed_id], progress_by_id.get(changed_id))
    return len(examined)


def _announce(artifact: Artifact, progress: IndexingProgress | None) -> None:
    announce(
        f"artifact.{_get_status(artifact)}",
        {
            "index": artifact.index,
            "artifact_id": str(artifact.pk),
            "external_id": artifact.external_id,
            "revision": artifact.revision,
            "status": _get_status(artifact),
            "error": _get_error(artifact, progress),
            "warnings": [*artifact.warnings, *(progress.warnings if progress else ())],
        },
    )


def _get_status(artifact: Artifact) -> str:
    return str(getattr(artifact, "status"))  # noqa: B009  (an annotation)


def _get_error(artifact: Artifact, progress: IndexingProgress | None) -> dict[str, str] | None:
    if _get_status(artifact) != "failed":
        return None
    if artifact.error_code:
        return {"code": artifact.error_code, "detail": artifact.error_detail}
    return progress.error if progress else None
