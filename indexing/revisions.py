"""Waits until searches show a write, and announces writes that searches now show.

A ``PendingRevision`` is created in the transaction of the write, and deleted once its artifact is
ready, failed or removed in the live build. Sync workers and the reconciliation delete them."""

import time
from collections.abc import Sequence
from threading import BoundedSemaphore
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from documents.index_catalog import get_catalog
from documents.models import Artifact, PendingRevision
from indexing.exceptions import NotYetIndexed
from indexing.kinds.registry import is_incomplete_in
from indexing.models import Node
from webhooks.services import emit_event

REVISION_BATCH_SIZE = 200  # changes looked at together
POLL_SECONDS = 0.05
MAX_WAITING_SEARCHES = 4  # searches at once: each holds a thread of the web server

_waiting_slots = BoundedSemaphore(MAX_WAITING_SEARCHES)


def wait_for_revision(index: str, build_id: int, kinds: Sequence[str], revision: int) -> None:
    """Return once the nodes of these kinds in a build show every write up to ``revision``.

    Raises:
        NotYetIndexed: they did not within ``STRATA_MIN_REVISION_SECONDS``, or too many others
            are waiting.
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
        f"{index} does not show revision {revision} yet.",
        field="min_revision",
        fix="Ask again in a moment; the index's progress says what it waits for.",
    )


def is_revision_visible(index: str, build_id: int, kinds: Sequence[str], revision: int) -> bool:
    """Whether all nodes of these kinds are up to date with every write up to ``revision``."""
    changed = PendingRevision.objects.filter(index=index, pk__lte=revision)
    if not changed.exists():
        return True
    ids = changed.values("artifact_id")
    is_read = Q(state__in=[Artifact.State.PARSED, Artifact.State.FAILED])
    is_incomplete = ~is_read | (Q(state=Artifact.State.PARSED) & is_incomplete_in(build_id, kinds))
    if Artifact.objects.filter(is_incomplete, pk__in=ids).exists():
        return False
    nodes = Node.objects.filter(build=build_id, artifact__in=ids, kind__in=kinds)
    unsynced = nodes.filter(state__in=[Node.State.PENDING, Node.State.DELETING])
    is_artifact_deleted = ~Exists(Artifact.objects.filter(pk=OuterRef("artifact_id")))
    return not unsynced.exists() and not nodes.filter(is_artifact_deleted).exists()


def complete_visible_revisions(*, limit: int | None = None) -> int:
    """Delete the revisions that searches now show, and emit their events; return how many.
    Examines the ``limit`` oldest revisions, or all."""
    count = examined_count = last = 0
    while limit is None or examined_count < limit:
        revisions = list(
            PendingRevision.objects.filter(pk__gt=last).order_by("pk")[:REVISION_BATCH_SIZE]
        )
        if not revisions:
            break
        last, examined_count = revisions[-1].pk, examined_count + len(revisions)
        count += _complete_batch(revisions)
    return count


def _complete_batch(revisions: Sequence[PendingRevision]) -> int:
    ids = {change.artifact_id for change in revisions}
    artifacts = get_catalog().with_status(Artifact.objects.filter(pk__in=ids))
    artifacts_by_id = {artifact.pk: artifact for artifact in artifacts}
    nodes = Node.objects.in_live_builds().filter(artifact=OuterRef("artifact_id"))
    numbers = [change.pk for change in revisions]
    orphaned = set(
        PendingRevision.objects.filter(~Exists(nodes), pk__in=numbers)
        .exclude(artifact_id__in=artifacts_by_id)
        .values_list("artifact_id", flat=True)
    )
    deleting = set(
        Node.objects.in_live_builds()
        .filter(artifact__in=ids, state=Node.State.DELETING)
        .values_list("artifact_id", flat=True)
    )
    count = 0
    for artifact_id in ids:
        artifact = artifacts_by_id.get(artifact_id)
        if artifact is None:
            is_complete = artifact_id in orphaned
        else:
            is_complete = (
                _get_status(artifact) in {"ready", "failed"} and artifact_id not in deleting
            )
        if is_complete:
            count += _delete_and_emit_event(artifact_id, artifact)
    return count


def _delete_and_emit_event(artifact_id: UUID, artifact: Artifact | None) -> int:
    with transaction.atomic():
        # Not what was written since: that is not what we looked at.
        seen = PendingRevision.objects.filter(artifact_id=artifact_id)
        if artifact is not None:
            seen = seen.filter(pk__lte=artifact.revision)
        count, _ = seen.delete()
        if count and artifact is not None and artifact.role == Artifact.Role.DOCUMENT:
            emit_event(
                f"artifact.{_get_status(artifact)}",
                {
                    "index": artifact.index,
                    "artifact_id": str(artifact.pk),
                    "external_id": artifact.external_id,
                    "revision": artifact.revision,
                    "status": _get_status(artifact),
                    "error": _get_error(artifact),
                },
            )
    return count


def _get_status(artifact: Artifact) -> str:
    return str(getattr(artifact, "status"))  # noqa: B009  (an annotation)


def _get_error(artifact: Artifact) -> dict[str, str] | None:
    if _get_status(artifact) != "failed":
        return None
    if artifact.error_code:
        return {"code": artifact.error_code, "detail": artifact.error_detail}
    return {"code": "node_failed", "detail": get_catalog().first_node_error(artifact.pk)}
