"""Compares the points of a build with its nodes, slice by slice, all the time.

Each minute the next few of both are compared, in the order of their ids. If the store holds more or
fewer points than the ledger, or has lost some, all are compared from the first id on, without a
break. What a slice costs does not depend on how many points there are.
"""

import logging
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from core.leases import Claim
from indexing.losses import accept_searches_if_whole, log_restoration_cost, refuse_searches
from indexing.models import (
    LOST_TURN,
    IndexBuild,
    Node,
    NodeCountChange,
    PointAudit,
    UnconfirmedWrite,
)
from indexing.point_comparison import compare_points, compare_range, repair_findings
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.stores import get_store

logger = logging.getLogger(__name__)

ROWS_PER_SLICE = 2_000  # while all are compared
WRITES_AT_ONCE = 1_000


class AuditedSlice(NamedTuple):
    due_count: int  # nodes to be written again
    is_last: bool  # False: call again at once


def audit_next_points(build: IndexBuild) -> AuditedSlice:
    """Resolve unconfirmed writes, then compare the next points: remove those without a node, and
    have those written again that were lost.

    Does nothing while another worker audits the build. With ``STRATA_RESTORE_LOST_POINTS`` off it
    stops at the first loss, and restores nothing.

    Raises:
        StoreUnavailable: calling again continues.
    """
    PointAudit.objects.get_or_create(build=build)
    claim = PointAudit.objects.filter(pk=build.pk).claim()
    if claim is None:
        return AuditedSlice(due_count=0, is_last=True)
    try:
        with claim.renewed():
            if count := resolve_unconfirmed_writes(build):
                logger.warning("Repaired %d points of %s after unconfirmed writes", count, build)
            lost_count, is_last = _audit_next_points(build, claim)
            return AuditedSlice(count + lost_count, is_last)
    finally:
        claim.give_back()


def _audit_next_points(build: IndexBuild, claim: Claim[PointAudit]) -> AuditedSlice:
    audit = claim.rows.get()
    if audit.difference is None:
        difference = _measure_difference(build)
        if difference or _is_loss_unexamined(build, audit):
            _save(claim, audit, cursor=None, difference=difference, started_at=timezone.now())
    compares_all = audit.difference is not None
    limit = ROWS_PER_SLICE if compares_all else settings.STRATA_AUDIT_POINTS
    compared = compare_range(build, audit.cursor, limit=limit, with_payload=False)
    orphans, lost = (
        [finding for finding in compared.findings if finding.name == name]
        for name in ("orphan", "missing")
    )
    if orphan_count := repair_findings(build, orphans):
        logger.warning("%d points of %s had no row in the ledger; removed", orphan_count, build)
    if lost:
        refuse_searches(build)
        # From now on this counts as the round that examines the loss.
        start = audit.cursor if compares_all else None
        _save(claim, audit, cursor=start, difference=0, started_at=timezone.now())
        if not settings.STRATA_RESTORE_LOST_POINTS:
            return AuditedSlice(due_count=0, is_last=True)
        repair_findings(build, lost, turn=LOST_TURN)  # after all other work
        if not compares_all:
            return AuditedSlice(len(lost), is_last=False)
    elif orphan_count and compares_all:
        _save(claim, audit, difference=0)
    if compared.end is not None:
        _save(claim, audit, cursor=compared.end)
    else:
        if audit.difference:  # the counts were wrong, for example after raw SQL
            logger.info("The number of nodes of %s was wrong by %d", build, audit.difference)
            change = audit.difference
            NodeCountChange.objects.create(build=build, synced_count=change, node_count=change)
        _save(claim, audit, cursor=None, difference=None)
        if compares_all and build.lost_at is not None:
            log_restoration_cost(build)
    is_last = audit.difference is None
    if is_last and build.lost_at is not None and not _is_loss_unexamined(build, audit):
        accept_searches_if_whole(build)
    return AuditedSlice(len(lost), is_last)


def resolve_unconfirmed_writes(build: IndexBuild) -> int:
    """Compare points still unconfirmed after ``STRATA_UNCONFIRMED_SECONDS`` with the ledger, and
    repair those that differ; return how many. A sync worker then writes the pending nodes.

    Raises:
        StoreUnavailable: calling again continues where this ended.
    """
    count = 0
    requested_before = Now() - timedelta(seconds=settings.STRATA_UNCONFIRMED_SECONDS)
    writes = UnconfirmedWrite.objects.filter(build=build, requested_at__lt=requested_before)
    for write in writes.order_by("pk")[:WRITES_AT_ONCE]:
        has_changed = False
        for part in slices([UUID(point_id) for point_id in write.point_ids], ROWS_PER_STATEMENT):
            compared = compare_points(build, write.collection, part)
            count += repair_findings(build, compared.findings)
            has_changed |= compared.has_changed
        if not has_changed:  # else the next call compares them again
            write.delete()
    return count


def _save(claim: Claim[PointAudit], audit: PointAudit, **values: Any) -> None:
    claim.rows.update(**values)
    for name, value in values.items():
        setattr(audit, name, value)


def _is_loss_unexamined(build: IndexBuild, audit: PointAudit) -> bool:
    """Whether points were lost after the last comparison of all began."""
    if build.lost_at is None:
        return False
    return audit.started_at is None or audit.started_at < build.lost_at


def _measure_difference(build: IndexBuild) -> int:
    """How many points the store holds beyond the build's nodes, or (negative) fewer than its synced
    nodes. Counts exactly only where a rough count differs."""
    store, collections = get_store(), build.collections()
    fewest, most = _count_nodes(build)
    if fewest <= sum(store.count_roughly(name) for name in collections) <= most:
        return 0
    point_count = sum(store.count(name) for name in collections)
    fewest_now, most_now = _count_nodes(build)  # it may have changed meanwhile
    return min(point_count - min(fewest, fewest_now), 0) or max(
        point_count - max(most, most_now), 0
    )


def _count_nodes(build: IndexBuild) -> tuple[int, int]:
    """How many nodes are synced, and how many there are: the sums of the changes, which become one
    row. Standalone nodes, of which there are few, are counted."""
    is_summed = False
    while not is_summed:
        with transaction.atomic():
            changes = NodeCountChange.objects.filter(build=build).order_by("pk")
            part = list(changes.select_for_update()[:ROWS_PER_STATEMENT])
            is_summed = len(part) < ROWS_PER_STATEMENT
            synced_count = sum(change.synced_count for change in part)
            node_count = sum(change.node_count for change in part)
            if len(part) > 1:
                changes.filter(pk__in=[change.pk for change in part]).delete()
                NodeCountChange.objects.create(
                    build=build, synced_count=synced_count, node_count=node_count
                )
    standalone = Node.objects.filter(build=build, artifact=None)
    return (
        synced_count + standalone.filter(state=Node.State.SYNCED).count(),
        node_count + standalone.count(),
    )
