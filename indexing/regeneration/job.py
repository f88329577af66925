"""Processes the artifacts of a claimed regeneration.

The cursor moves in the transaction that sets an artifact's nodes pending, so that after a crash
no artifact is processed twice or skipped.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from core.exceptions import StrataError
from indexing.models import NOT_SYNCED, Node, Regeneration, lease_expiry
from indexing.regeneration.scope import POINTS_PER_REQUEST, Scope, find_next_artifact_ids
from indexing.services import plan_nodes, reembed_nodes, retry_failed_nodes

logger = logging.getLogger(__name__)

LEASE_SECONDS = 300  # the longest document, cut for every build

_NO_LEASE: dict[str, Any] = {"lease_token": None, "leased_until": None}


class _ClaimLost(Exception):
    """It was cancelled, or another worker took it up."""


@dataclass(slots=True)
class DueWork:
    """Work to enqueue: builds with pending nodes, and the number of texts to generate."""

    builds: set[int] = field(default_factory=set)
    text_count: int = 0


def claim_regeneration(regeneration_id: UUID) -> Regeneration | None:
    """Lease a regeneration and count the attempt; None if it is finished or leased already."""
    token = uuid.uuid4()
    Regeneration.objects.claimable().filter(pk=regeneration_id).update(
        attempts=F("attempts") + 1, lease_token=token, leased_until=lease_expiry(LEASE_SECONDS)
    )
    return Regeneration.objects.filter(pk=regeneration_id, lease_token=token).first()


def release_regeneration(regeneration: Regeneration) -> None:
    """Release the lease, and do not count the attempt."""
    held = _filter_claimed(regeneration)
    held.filter(attempts__gt=0).update(attempts=F("attempts") - 1)
    held.update(**_NO_LEASE)


def release_all_leases() -> None:
    """Release all leases. Call it only in a process that runs all workers itself."""
    Regeneration.objects.filter(lease_token__isnull=False).update(**_NO_LEASE)


def regenerate_next_artifacts(
    regeneration: Regeneration, due: DueWork, *, should_stop: Callable[[], bool] = lambda: False
) -> bool:
    """Set nodes of the next few artifacts pending; return whether more artifacts are left. The
    regeneration must be claimed; it is released after the last artifact. ``due`` collects what
    was set pending, even if this raises.

    Raises:
        EmbeddingUnavailable, ModelUnavailable, StoreUnavailable, …: it was let go of as far as
            it came, and says why; claiming it again later is safe.
    """
    try:
        return _regenerate_next_artifacts(regeneration, due, should_stop)
    except _ClaimLost:
        return False
    except StrataError as error:
        _filter_claimed(regeneration).update(last_error=f"{error} {error.fix or ''}".strip())
        if error.is_retryable or error.is_about_setup:
            release_regeneration(regeneration)
        else:
            _filter_claimed(regeneration).update(**_NO_LEASE)
        raise
    except Exception as error:
        _filter_claimed(regeneration).update(
            last_error=f"{type(error).__name__}: {error}", **_NO_LEASE
        )
        raise


def _regenerate_next_artifacts(
    claimed: Regeneration, due: DueWork, should_stop: Callable[[], bool]
) -> bool:
    regeneration = _filter_claimed(claimed).first()
    if regeneration is None:
        raise _ClaimLost
    artifact_ids = find_next_artifact_ids(regeneration)
    if not artifact_ids:
        _finish(regeneration)
        return False
    regeneration.first = regeneration.first or artifact_ids[0]
    if regeneration.attempts > settings.STRATA_MAX_ATTEMPTS:
        # Whoever went on from here has died, or met with a defect: leave out what comes next.
        logger.warning("%s gives up artifact %s", regeneration, artifact_ids[0])
        error = regeneration.last_error or "Its worker died at each attempt."
        _advance(regeneration, artifact_ids[0], 1, failed_count=1, last_error=error)
        return True
    scope = Scope.from_artifacts(regeneration, artifact_ids)
    skipped_ids: list[UUID] = []
    for artifact_id in artifact_ids:
        if artifact_id not in scope.artifact_ids:
            skipped_ids.append(artifact_id)
            continue
        if skipped_ids:
            _advance(regeneration, skipped_ids[-1], len(skipped_ids))
            skipped_ids = []
        _regenerate_artifact(regeneration, artifact_id, scope, due)
        if should_stop():
            break
    if skipped_ids:
        _advance(regeneration, skipped_ids[-1], len(skipped_ids))
    return True


def _regenerate_artifact(
    regeneration: Regeneration, artifact_id: UUID, scope: Scope, due: DueWork
) -> None:
    """Set the requested nodes of one artifact pending, and move the cursor, in one transaction."""
    is_partial = regeneration.is_for_missing or regeneration.is_for_stale
    builds_and_kinds = scope.builds_by_index.get(scope.index_of[artifact_id], [])
    for build, kinds in builds_and_kinds:  # no lock is held while they are cut
        plan_nodes(artifact_id, build, [kind.name for kind in kinds])
    text_count = node_count = 0
    builds = set()
    with transaction.atomic():
        for build, kinds in builds_and_kinds:
            nodes = Node.objects.filter(
                build=build, artifact=artifact_id, kind__in=[kind.name for kind in kinds]
            )
            # Locked in the order in which every writer of several rows locks them.
            list(nodes.select_for_update().order_by("pk").values_list("pk", flat=True))
            if not is_partial:
                reembed_nodes(nodes)
            if regeneration.is_for_missing:
                retry_failed_nodes(nodes)
                for part in _split_into_batches(scope.nodes_without_points.get(artifact_id, [])):
                    reembed_nodes(nodes.filter(pk__in=part, state=Node.State.SYNCED))
            if not is_partial or regeneration.is_for_missing:
                for kind in kinds:
                    text_count += kind.rewrite_inputs(artifact_id, build, only_failed=is_partial)
            if pending := nodes.filter(NOT_SYNCED, state=Node.State.PENDING).count():
                node_count += pending
                builds.add(build.pk)
        _advance(
            regeneration,
            artifact_id,
            1,
            due_artifact_count=int(bool(node_count or text_count)),
            due_node_count=node_count,
            due_text_count=text_count,
        )
    due.builds |= builds
    due.text_count += text_count


def _split_into_batches(node_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(node_ids), POINTS_PER_REQUEST):
        yield node_ids[start : start + POINTS_PER_REQUEST]


def _advance(
    regeneration: Regeneration,
    cursor: UUID,
    artifact_count: int,
    *,
    last_error: str = "",
    **counts: int,
) -> None:
    """Move the cursor past ``artifact_count`` artifacts, and count the attempt at the next one."""
    moved: dict[str, Any] = {name: F(name) + count for name, count in counts.items()}
    if last_error or not regeneration.failed_count:  # that of one given up is kept to the end
        moved["last_error"] = last_error
    if not _filter_claimed(regeneration).update(
        first=regeneration.first, cursor=cursor, done_count=F("done_count") + artifact_count,
        attempts=1,
        leased_until=lease_expiry(LEASE_SECONDS), **moved,
    ):  # fmt: skip
        raise _ClaimLost


def _filter_claimed(regeneration: Regeneration) -> QuerySet[Regeneration]:
    running = Regeneration.objects.running()
    return running.filter(pk=regeneration.pk, lease_token=regeneration.lease_token)


def _finish(regeneration: Regeneration) -> None:
    is_whole = regeneration.failed_count == 0
    _filter_claimed(regeneration).update(
        state=Regeneration.State.DONE if is_whole else Regeneration.State.FAILED,
        total_count=F("done_count"),
        finished_at=timezone.now(),
        attempts=0,
        **_NO_LEASE,
    )
