"""Finds points that the vector store has lost, and has them written again.

After a collection was dropped, points were deleted by another program, or an old snapshot was
restored. An index answers no search from when a loss is found until its points are written again.
"""

import logging
from collections.abc import Iterator
from uuid import UUID

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from core.leases import FRESH
from indexing.exceptions import PointsLost
from indexing.models import LOST_TURN, IndexBuild, Node, NodeQuerySet
from indexing.services import changing_nodes
from indexing.stores import get_store
from indexing.throughput import embedding_work_key, get_rate_per_second

logger = logging.getLogger(__name__)

NODES_PER_REQUEST = 500  # whose points are asked for together


def find_and_restore_lost_points(build: IndexBuild) -> int:
    """Find synced nodes whose points the store lacks, and have them written again after all other
    work; return how many were made due. Calling it again after a kill goes on.

    Reads all nodes where the store holds fewer points than there are synced nodes, and elsewhere
    only the next ``STRATA_AUDIT_POINTS``: a snapshot of yesterday may hold as many points. With
    ``STRATA_RESTORE_LOST_POINTS`` off it stops at the first loss, and restores nothing.

    Raises:
        StoreUnavailable: calling again goes on.
    """
    count = 0
    are_all_read = any(
        # Counted in this order: a node stops being synced before its point is removed.
        _synced_nodes(build).filter(kind__in=kinds).count() > get_store().count(collection)
        for collection, kinds in build.collections().items()
    )
    for lost_ids in _find_all(build) if are_all_read else [_find_among_next(build)]:
        if not lost_ids:
            continue
        if build.lost_at is None:
            _refuse_searches(build)
        if not settings.STRATA_RESTORE_LOST_POINTS:
            return 0
        _set_pending(build, lost_ids)
        count += len(lost_ids)
    if count:
        _log_price(build)
    elif build.lost_at is not None and not _are_nodes_left(build):
        IndexBuild.objects.filter(pk=build.pk).update(lost_at=None)
        build.lost_at = None
        logger.warning("%s has all its points again.", build)
    return count


def has_lost_collection(build_id: int, collection: str) -> bool:
    """Whether the collection is empty or missing although the ledger says that points were written;
    if so, the build answers no further search. For a search that has found nothing."""
    build = IndexBuild.objects.not_retired().filter(pk=build_id).first()
    if build is None:  # its points were removed on purpose
        return False
    kinds = build.collections()[collection]
    was_written = _synced_nodes(build).filter(kind__in=kinds)
    # Asked in this order: a point is written before its node is synced.
    if not was_written.exists() or not _is_empty(collection) or not was_written.exists():
        return False
    _refuse_searches(build)
    return True


def _is_empty(collection: str) -> bool:
    store = get_store()
    return not store.count(collection) and not (
        store.wait_for_replicas() and store.count(collection)
    )


def make_loss_error(index: str) -> PointsLost:
    """The error of a search of this index, and of whatever else needs all its points."""
    return PointsLost(
        f"The vector store has lost points of the index {index}; searches wait until they are "
        "restored.",
        field="index",
        fix="manage.py status shows how many are pending."
        if settings.STRATA_RESTORE_LOST_POINTS
        else "Run manage.py verify --repair.",
    )


def _synced_nodes(build: IndexBuild) -> NodeQuerySet:
    return Node.objects.filter(build=build, state=Node.State.SYNCED)


def _find_all(build: IndexBuild) -> Iterator[list[int]]:
    last: UUID | None = None
    while rows := _read_nodes(build, after=last, limit=NODES_PER_REQUEST):
        last = rows[-1].point_id
        yield _find_lost(build, rows)


def _find_among_next(build: IndexBuild) -> list[int]:
    """Look at the nodes that follow those of the last call, in the order of their random ids."""
    limit = settings.STRATA_AUDIT_POINTS
    rows = _read_nodes(build, after=build.point_audit_cursor, limit=limit)
    cursor = rows[-1].point_id if len(rows) == limit else None
    IndexBuild.objects.filter(pk=build.pk).update(point_audit_cursor=cursor)
    build.point_audit_cursor = cursor
    return _find_lost(build, rows)


def _read_nodes(build: IndexBuild, *, after: UUID | None, limit: int) -> list[Node]:
    nodes = _synced_nodes(build).only("pk", "point_id", "kind", "synced_at").order_by("point_id")
    return list(nodes[:limit] if after is None else nodes.filter(point_id__gt=after)[:limit])


def _find_lost(build: IndexBuild, nodes: list[Node]) -> list[int]:
    """The keys of those nodes that have no point, and were synced all the while."""
    lost = _find_absent(build, nodes)
    # The first loss is believed if it is seen twice, the others of a known loss at once.
    if lost and build.lost_at is None and get_store().wait_for_replicas():
        lost = _find_absent(build, list(lost.values()))
    still_synced = _synced_nodes(build).filter(pk__in=lost).values_list("pk", "synced_at")
    return [pk for pk, synced_at in still_synced if synced_at == lost[pk].synced_at]


def _find_absent(build: IndexBuild, nodes: list[Node]) -> dict[int, Node]:
    absent: dict[int, Node] = {}
    for collection, kinds in build.collections().items():
        asked = [node for node in nodes if node.kind in kinds]
        held = get_store().retrieve(collection, [node.point_id for node in asked])
        absent |= {node.pk: node for node in asked if node.point_id not in held}
    return absent


def _refuse_searches(build: IndexBuild) -> None:
    build.lost_at = timezone.now()
    if IndexBuild.objects.filter(pk=build.pk, lost_at=None).update(lost_at=build.lost_at):
        logger.error(
            "The vector store has lost points of %s. Searches of it are refused until all are "
            "written again%s.",
            build,
            ""
            if settings.STRATA_RESTORE_LOST_POINTS
            else ", which STRATA_RESTORE_LOST_POINTS leaves to you: manage.py verify --repair",
        )


def _set_pending(build: IndexBuild, node_ids: list[int]) -> None:
    nodes = Node.objects.filter(pk__in=node_ids)
    artifact_ids = set(nodes.values_list("artifact_id", flat=True))
    with changing_nodes(build.pk, artifact_ids):
        nodes.filter(state=Node.State.SYNCED).update(
            state=Node.State.PENDING, synced_input_hash="", turn=LOST_TURN, **FRESH
        )


def _are_nodes_left(build: IndexBuild) -> bool:
    """Whether nodes are still to be written that were synced before the loss."""
    return Node.objects.unsynced(build).filter(synced_at__lt=build.lost_at).exists()


def _log_price(build: IndexBuild) -> None:
    """Log what writing the lost points again takes, as far as it is known."""
    nodes = Node.objects.unsynced(build).filter(turn__gte=LOST_TURN)
    tokens = nodes.aggregate(Sum("token_count"))["token_count__sum"] or 0
    rate = get_rate_per_second(embedding_work_key(build.spec.embedding))
    logger.warning(
        "%d points of %s are embedded and written again, after all other work: %d tokens%s.",
        nodes.count(),
        build,
        tokens,
        "" if rate is None else f", about {tokens / rate:.0f} s",
    )
