"""Celery tasks for indexing. Each takes ids, calls a service and returns nothing.

Every task may run twice, late, or after the row it names was deleted.
"""

import logging
from collections.abc import Callable
from functools import partial

from celery import current_app, shared_task
from django.dispatch import Signal

from core.apps import iter_tasks
from core.enqueueing import enqueue_once
from core.exceptions import StrataError
from documents import titles
from indexing import lifecycle, removal, revisions, services
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.point_audit import audit_next_points
from indexing.workers import BuildWorker, PlanWorker

logger = logging.getLogger(__name__)

documents_planned = Signal()  # with ``build``; other apps connect to it


def _sync_batch(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    count = services.sync_nodes(
        build, should_stop=should_stop, is_awaited=partial(sync_worker.is_awaited, build.pk)
    )
    if not count:
        revisions.complete_visible_revisions(
            limit=revisions.REVISION_BATCH_SIZE
        )  # the reconciliation completes all
        if build.lost_at is not None:  # its points may all be restored
            enqueue_once(audit_points, build_id=build.pk)
    return count


def _enqueue_planned_nodes(build: IndexBuild) -> None:
    if Node.objects.unsynced(build).exists() or Node.objects.deletable(build).exists():
        enqueue_once(sync_nodes, build_id=build.pk)
    documents_planned.send(IndexBuild, build=build)


def _audit_slice(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    audited = audit_next_points(build)
    if audited.due_count:
        enqueue_once(sync_nodes, build_id=build.pk)
    return int(not audited.is_last)


def _read_anew(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    count = services.read_next(build, should_stop)
    if count:
        enqueue_once(plan_build, build_id=build.pk)
    return count


reading_worker = BuildWorker(_read_anew, services.set_build_problem)
sync_worker = BuildWorker(_sync_batch, services.set_build_problem)
plan_worker = PlanWorker(services.set_build_problem, _enqueue_planned_nodes)
# An audit that must wait is logged; what blocks the build itself is saved by the other workers.
audit_worker = BuildWorker(_audit_slice, lambda build, error: None)


@shared_task
def read_anew(*, build_id: int) -> None:
    """Read the originals of a build's unread documents; enqueue itself if work is left."""
    for unfinished_id in reading_worker.run(build_id):
        enqueue_once(read_anew, build_id=unfinished_id)


@shared_task
def plan_build(*, build_id: int) -> None:
    """Update the ledger of one build for all artifacts that are due."""
    for unfinished_id in plan_worker.run(build_id):
        enqueue_once(plan_build, build_id=unfinished_id)


@shared_task
def sync_nodes(*, build_id: int) -> None:
    """Sync a build; enqueue itself again if that takes longer than one run."""
    for unfinished_id in sync_worker.run(build_id):
        enqueue_once(sync_nodes, build_id=unfinished_id)


@shared_task
def load_new_specs() -> None:
    """Create the indexes of new spec files."""
    services.load_new_specs()


@shared_task
def reconcile_indexes() -> None:
    """Enqueue all unfinished work that the rows show, after lost messages or dead workers."""
    lifecycle.pause_overdue_builds()
    for build in IndexBuild.objects.not_paused().readable():
        if build.state == IndexBuild.State.LIVE:
            titles.follow_setting(build.index_id)
        services.make_unannounced_due(build)
        services.audit_documents(build)
        services.plan_unannounced_standalone_nodes(build)
        is_unread = IndexedDocument.objects.unread(build).exists()
        if is_unread:
            enqueue_once(read_anew, build_id=build.pk)
        if IndexedDocument.objects.due(build).exists():
            enqueue_once(plan_build, build_id=build.pk)
        elif build.problem and not is_unread and not Node.objects.unsynced(build).exists():
            services.set_build_problem(build, None)
        if Node.objects.unsynced(build).exists() or Node.objects.deletable(build).exists():
            enqueue_once(sync_nodes, build_id=build.pk)
    revisions.complete_visible_revisions()
    reconcile_store.delay()


@shared_task
def reconcile_store() -> None:
    """Remove the data of retired builds, publish the aliases of live builds, apply the store
    settings to collections, and have the points of all builds audited and expired documents
    deleted.

    Runs in a worker, because only a process with access to the store can do this.
    """
    builds = IndexBuild.objects.not_paused().readable()
    steps: list[Callable[[], object]] = [
        lifecycle.remove_retired_builds,
        removal.continue_removals,
        lifecycle.publish_aliases,
        *(partial(lifecycle.update_collections, build) for build in builds),
    ]
    for step in steps:
        try:
            step()
        except StrataError as error:  # it must not stop the others
            logger.warning("A step of the upkeep of the vector store waits: %s", error)
    enqueue_once(remove_expired_artifacts)
    for build in builds:
        enqueue_once(audit_points, build_id=build.pk)


@shared_task
def remove_expired_artifacts() -> None:
    """Delete expired documents; enqueue itself again if that takes longer than one run."""
    if removal.remove_expired_artifacts():
        enqueue_once(remove_expired_artifacts)


@shared_task
def erase_deleted() -> None:
    """Erase deleted text from files; a thread of a worker waits meanwhile, searches do not."""
    try:
        removal.erase_deleted()
    except StrataError as error:
        logger.warning("Erasing deleted text waits: %s", error)


@shared_task
def audit_points(*, build_id: int) -> None:
    """Look for lost and orphan points of a build; enqueue itself again if one run is too short."""
    for unfinished_id in audit_worker.run(build_id):
        enqueue_once(audit_points, build_id=unfinished_id)


# Purposes of periodic tasks.
RECONCILE_INDEXES = "indexes"
RECONCILE_TEXTS = "texts"
PROMOTE_BUILDS = "promotion"


def enqueue_reconciliation(*purposes: str) -> None:
    """Enqueue periodic tasks now instead of at their next scheduled time: those for what a change
    needs, or all on request.

    Raises:
        OperationalError: all were requested, and the broker cannot be reached.
    """
    for name, declared in iter_tasks():
        task = current_app.tasks[name]
        if declared.every and not purposes:
            task.delay()
        elif declared.purpose in purposes:
            enqueue_once(task)
