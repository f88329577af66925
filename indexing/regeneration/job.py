"""Processes the artifacts and standalone rows of a claimed regeneration.

The cursor moves in the same transaction that sets an artifact's nodes pending, so that after a
crash no artifact is processed twice or skipped.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from core.expected_errors import is_expected
from core.leases import NO_LEASE, describe_error
from indexing.drafting import get_drafter
from indexing.kinds import KINDS
from indexing.models import NOT_SYNCED, Node, Regeneration
from indexing.regeneration.scope import RegenerationScope, find_next_ids, is_limit_reached
from indexing.services import (
    changing_nodes,
    make_documents_due,
    plan_nodes,
    plan_standalone_rows,
    reembed_nodes,
    retry_failed_nodes,
)
from indexing.services.batches import ROWS_PER_STATEMENT, slices

logger = logging.getLogger(__name__)


class _ClaimLost(Exception):
    """The regeneration was cancelled, or another worker claimed it."""


@dataclass(slots=True)
class DueWork:
    """Work to enqueue: builds with pending nodes, and the number of texts to generate."""

    builds: set[int] = field(default_factory=set)
    text_count: int = 0


def claim_regeneration(regeneration_id: UUID) -> Regeneration | None:
    """Lease a regeneration and count the attempt; None if it is finished or leased already."""
    claim = Regeneration.objects.claimable().filter(pk=regeneration_id).claim()
    return None if claim is None else claim.rows.first()


def regenerate_next_artifacts(
    regeneration: Regeneration, due: DueWork, *, should_stop: Callable[[], bool] = lambda: False
) -> bool:
    """Set nodes of the next few artifacts pending; return whether more artifacts are left. The
    regeneration must be claimed; it is released after the last artifact. ``due`` collects what
    was set pending, even if this raises.

    Raises:
        EmbeddingUnavailable, ModelUnavailable, StoreUnavailable, …: the regeneration was
            released with its progress and the error; claiming it again later is safe.
    """
    claim = regeneration.get_claim()
    try:
        return _regenerate_next_artifacts(regeneration, due, should_stop)
    except _ClaimLost:
        return False
    except Exception as error:
        if is_expected(error):
            claim.give_back(describe_error(error))
        else:  # after some attempts, the next worker gives up only this artifact
            claim.rows.update(last_error=describe_error(error), **NO_LEASE)
        raise


def _regenerate_next_artifacts(
    claimed: Regeneration, due: DueWork, should_stop: Callable[[], bool]
) -> bool:
    regeneration = _filter_claimed(claimed).first()
    if regeneration is None:
        raise _ClaimLost
    ids = find_next_ids(regeneration)
    if not ids:
        _finish(regeneration)
        return False
    regeneration.first = regeneration.first or ids[0]
    if regeneration.attempts > settings.STRATA_MAX_ATTEMPTS:
        # Every attempt at the next artifact ended with a dead worker or a defect: skip it.
        logger.warning("%s gives up %s", regeneration, ids[0])
        error = regeneration.last_error or "Its worker died at each attempt."
        _advance(regeneration, ids[0], 1, failed_count=1, last_error=error)
        return True
    scope = RegenerationScope.from_ids(regeneration, ids)
    skipped_ids: list[UUID] = []
    for made_from_id in ids:
        if made_from_id not in scope.ids:
            skipped_ids.append(made_from_id)
            continue
        if skipped_ids:
            _advance(regeneration, skipped_ids[-1], len(skipped_ids))
            skipped_ids = []
        # Counted here, too: the row holds the count of when it was read.
        regeneration.due_artifact_count += _regenerate(regeneration, made_from_id, scope, due)
        if should_stop() or is_limit_reached(regeneration):
            break
    if skipped_ids:
        _advance(regeneration, skipped_ids[-1], len(skipped_ids))
    return True


def _regenerate(
    regeneration: Regeneration, made_from_id: UUID, scope: RegenerationScope, due: DueWork
) -> bool:
    """Set the requested nodes of one artifact or standalone row pending, and move the cursor, in
    one transaction; return whether anything became pending."""
    is_partial = regeneration.is_for_missing or regeneration.is_for_stale
    builds_and_kinds = scope.builds.get(made_from_id, [])
    for build, kinds in builds_and_kinds:  # no lock is held while chunks are cut
        if KINDS[kinds[0]].is_standalone:
            plan_standalone_rows(kinds[0], build, [made_from_id])
        else:
            plan_nodes(made_from_id, build, kinds)
    text_count = node_count = 0
    builds = set()
    with ExitStack() as transactions:
        transactions.enter_context(transaction.atomic())
        for build, kinds in builds_and_kinds:
            transactions.enter_context(changing_nodes(build.pk, [made_from_id]))
            nodes = Node.objects.made_from([made_from_id]).filter(build=build, kind__in=kinds)
            # All writers of several rows lock them in this order, which prevents deadlocks.
            list(nodes.select_for_update().order_by("pk").values_list("pk", flat=True))
            if not is_partial:
                reembed_nodes(nodes)
            if regeneration.is_for_missing:
                retry_failed_nodes(nodes)
                node_ids = scope.nodes_without_points.get(made_from_id, [])
                for part in slices(node_ids, ROWS_PER_STATEMENT):
                    reembed_nodes(nodes.filter(pk__in=part, state=Node.State.SYNCED))
            if not is_partial or regeneration.is_for_missing:
                texts = [
                    get_drafter(kind).rewrite_inputs(made_from_id, build, only_failed=is_partial)
                    for kind in kinds
                    if not KINDS[kind].is_standalone
                ]
                if any(texts):
                    make_documents_due([build.pk], [made_from_id])
                text_count += sum(texts)
            if pending := nodes.filter(NOT_SYNCED, state=Node.State.PENDING).count():
                node_count += pending
                builds.add(build.pk)
        is_due = bool(node_count or text_count)
        _advance(
            regeneration,
            made_from_id,
            1,
            due_artifact_count=int(is_due),
            due_node_count=node_count,
            due_text_count=text_count,
        )
    due.builds |= builds
    due.text_count += text_count
    return is_due


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
    if last_error or not regeneration.failed_count:  # the error of a skipped artifact is kept
        moved["last_error"] = last_error
    if not _filter_claimed(regeneration).update(
        first=regeneration.first, cursor=cursor, done_count=F("done_count") + artifact_count,
        attempts=1, **moved,
    ):  # fmt: skip
        raise _ClaimLost


def _filter_claimed(regeneration: Regeneration) -> QuerySet[Regeneration]:
    """Empty if it was cancelled or claimed by another worker."""
    return regeneration.get_claim().rows.filter(state=Regeneration.State.RUNNING)


def _finish(regeneration: Regeneration) -> None:
    is_whole = regeneration.failed_count == 0
    _filter_claimed(regeneration).update(
        state=Regeneration.State.DONE if is_whole else Regeneration.State.FAILED,
        total_count=F("done_count"),
        finished_at=timezone.now(),
        attempts=0,
        **NO_LEASE,
    )
