"""Writes that do not show yet: waiting for one, and announcing that it shows.

A ``PendingRevision`` is there from the write's own transaction until its artifact is ready or
failed in the live build, or is gone from it. Whoever syncs or reconciles resolves them."""

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
from indexing.kinds.registry import is_unfinished_in
from indexing.models import Node
from webhooks.services import emit_event

SLICE = 200  # changes looked at together
POLL_SECONDS = 0.05
MOST_WAITING = 4  # searches at once: each holds a thread of the web server

_waiting = BoundedSemaphore(MOST_WAITING)


def wait_for_revision(index: str, build_id: int, kinds: Sequence[str], revision: int) -> None:
    """Return once the nodes of these kinds in a build show every write up to ``revision``.

    Raises:
        NotYetIndexed: they did not within ``STRATA_MIN_REVISION_SECONDS``, or too many others
            are waiting.
    """
    if shows_revision(index, build_id, kinds, revision):
        return
    deadline = time.monotonic() + settings.STRATA_MIN_REVISION_SECONDS
    if _waiting.acquire(blocking=False):
        try:
            while time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
                if shows_revision(index, build_id, kinds, revision):
                    return
        finally:
            _waiting.release()
    raise NotYetIndexed(
        f"{index} does not show revision {revision} yet.",
        field="min_revision",
        fix="Ask again in a moment; the index's progress says what it waits for.",
    )


def shows_revision(index: str, build_id: int, kinds: Sequence[str], revision: int) -> bool:
    """Whether nothing of these kinds is undone for what was written up to ``revision``."""
    changed = PendingRevision.objects.filter(index=index, pk__lte=revision)
    if not changed.exists():
        return True
    ids = changed.values("artifact_id")
    is_read = Q(state__in=[Artifact.State.PARSED, Artifact.State.FAILED])
    misses = ~is_read | (Q(state=Artifact.State.PARSED) & is_unfinished_in(build_id, kinds))
    if Artifact.objects.filter(misses, pk__in=ids).exists():
        return False
    nodes = Node.objects.filter(build=build_id, artifact__in=ids, kind__in=kinds)
    unsynced = nodes.filter(state__in=[Node.State.PENDING, Node.State.DELETING])
    gone = ~Exists(Artifact.objects.filter(pk=OuterRef("artifact_id")))
    return not unsynced.exists() and not nodes.filter(gone).exists()


def resolve_changes(*, most: int | None = None) -> int:
    """Forget the changes that show by now, and announce their artifacts; how many. Looks at the
    ``most`` oldest, or at all."""
    count = looked_at = last = 0
    while most is None or looked_at < most:
        changes = list(PendingRevision.objects.filter(pk__gt=last).order_by("pk")[:SLICE])
        if not changes:
            break
        last, looked_at = changes[-1].pk, looked_at + len(changes)
        count += _resolve(changes)
    return count


def _resolve(changes: Sequence[PendingRevision]) -> int:
    ids = {change.artifact_id for change in changes}
    known = get_catalog().with_status(Artifact.objects.filter(pk__in=ids))
    status = {artifact.pk: artifact for artifact in known}
    nodes = Node.objects.live().filter(artifact=OuterRef("artifact_id"))
    numbers = [change.pk for change in changes]
    orphaned = set(
        PendingRevision.objects.filter(~Exists(nodes), pk__in=numbers)
        .exclude(artifact_id__in=status)
        .values_list("artifact_id", flat=True)
    )
    deleting = set(
        Node.objects.live()
        .filter(artifact__in=ids, state=Node.State.DELETING)
        .values_list("artifact_id", flat=True)
    )
    count = 0
    for artifact_id in ids:
        artifact = status.get(artifact_id)
        if artifact is None:
            is_over = artifact_id in orphaned
        else:
            is_over = _status(artifact) in {"ready", "failed"} and artifact_id not in deleting
        if is_over:
            count += _forget(artifact_id, artifact)
    return count


def _forget(artifact_id: UUID, artifact: Artifact | None) -> int:
    with transaction.atomic():
        # Not what was written since: that is not what we looked at.
        seen = PendingRevision.objects.filter(artifact_id=artifact_id)
        if artifact is not None:
            seen = seen.filter(pk__lte=artifact.revision)
        count, _ = seen.delete()
        if count and artifact is not None and artifact.role == Artifact.Role.DOCUMENT:
            emit_event(
                f"artifact.{_status(artifact)}",
                {
                    "index": artifact.index,
                    "artifact_id": str(artifact.pk),
                    "external_id": artifact.external_id,
                    "revision": artifact.revision,
                    "status": _status(artifact),
                    "error": _error(artifact),
                },
            )
    return count


def _status(artifact: Artifact) -> str:
    return str(getattr(artifact, "status"))  # noqa: B009  (an annotation)


def _error(artifact: Artifact) -> dict[str, str] | None:
    if _status(artifact) != "failed":
        return None
    if artifact.error_code:
        return {"code": artifact.error_code, "detail": artifact.error_detail}
    return {"code": "node_failed", "detail": get_catalog().first_node_error(artifact.pk)}
