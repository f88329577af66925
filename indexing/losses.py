"""Refuses searches of a build from when the vector store has lost points until they are back.

The store loses points if a collection is dropped, another program deletes points, or an old
snapshot is restored. The audit finds such points (``point_audit``), and a search that finds nothing
a lost collection.
"""

import logging

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from indexing.exceptions import PointsLost
from indexing.models import LOST_TURN, IndexBuild, Node
from indexing.stores import get_store
from indexing.throughput import embedding_work_key, get_rate_per_second

logger = logging.getLogger(__name__)


def has_lost_collection(build_id: int, collection: str) -> bool:
    """Whether the collection is empty or missing although the ledger says that points were written;
    if so, the build answers no further search. For a search that has found nothing."""
    build = IndexBuild.objects.not_retired().filter(pk=build_id).first()
    if build is None:  # its points were removed on purpose
        return False
    was_written = Node.objects.filter(
        build=build, state=Node.State.SYNCED, kind__in=build.collections()[collection]
    )
    # Asked in this order: a point is written before its node is synced.
    if not was_written.exists() or not _is_empty(collection) or not was_written.exists():
        return False
    refuse_searches(build)
    return True


def _is_empty(collection: str) -> bool:
    store = get_store()
    return not store.count(collection) and not (
        store.wait_for_replicas() and store.count(collection)
    )


def make_loss_error(index: str) -> PointsLost:
    """The error of searches of this index, and of other requests that need all its points."""
    return PointsLost(
        f"The vector store has lost points of the index {index}; searches are refused until they "
        "are back.",
        field="index",
        fix="strata status shows how many are pending."
        if settings.STRATA_RESTORE_LOST_POINTS
        else "Run strata verify --repair.",
    )


def refuse_searches(build: IndexBuild) -> None:
    """Let the build answer no search from now on. Does nothing the second time."""
    if build.lost_at is not None:
        return
    build.lost_at = timezone.now()
    if IndexBuild.objects.filter(pk=build.pk, lost_at=None).update(lost_at=build.lost_at):
        logger.error(
            "The vector store has lost points of %s. Searches of it are refused until all are "
            "written again%s.",
            build,
            ""
            if settings.STRATA_RESTORE_LOST_POINTS
            else ", which STRATA_RESTORE_LOST_POINTS leaves to you: strata verify --repair",
        )


def accept_searches_if_whole(build: IndexBuild) -> None:
    """Let the build answer searches again, unless a node that was synced before the loss is still
    pending. Call this after all points of the build were compared with its nodes."""
    if Node.objects.unsynced(build).filter(synced_at__lt=build.lost_at).exists():
        return
    IndexBuild.objects.filter(pk=build.pk).update(lost_at=None)
    build.lost_at = None
    logger.warning("%s has all its points again.", build)


def log_restoration_cost(build: IndexBuild) -> None:
    """Log how many tokens must be embedded to write the lost points again, and the time."""
    nodes = Node.objects.unsynced(build).filter(turn__gte=LOST_TURN)
    if not nodes.exists():
        return
    tokens = nodes.aggregate(Sum("token_count"))["token_count__sum"] or 0
    rate = get_rate_per_second(embedding_work_key(build.spec.embedding))
    logger.warning(
        "%d points of %s are embedded and written again, after all other work: %d tokens%s.",
        nodes.count(),
        build,
        tokens,
        "" if rate is None else f", about {tokens / rate:.0f} s",
    )
