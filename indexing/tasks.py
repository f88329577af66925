"""Celery entry points for indexing: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

import logging
import time
from collections.abc import Callable
from uuid import UUID

from celery import current_app, shared_task
from django.conf import settings

from core.exceptions import StrataError
from core.workers import Worker
from indexing import lifecycle, removal, revisions, services, verification
from indexing.kinds.registry import unplanned_artifacts
from indexing.models import IndexBuild, Node, Regeneration
from indexing.regeneration import (
    Due,
    claim_regeneration,
    regenerate_slice,
    release_regeneration,
)
from indexing.workers import BuildWorker, PlanWorker

logger = logging.getLogger(__name__)


class RegenerationWorker(Worker):
    """Goes through a regeneration, slice by slice; a stop request or ``STRATA_WORKER_RUN_SECONDS``
    end it between two artifacts."""

    def run(self, regeneration_id: UUID) -> list[UUID]:
        """What to go on with: the same where the time was up, the next one where it is over."""
        with self._turn() as is_ours:
            # Whoever is at one names the next, or the reconciliation does.
            return self._go_through(regeneration_id) if is_ours else []

    def _go_through(self, regeneration_id: UUID) -> list[UUID]:
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        regeneration = claim_regeneration(regeneration_id)
        if regeneration is None:
            return []

        def should_stop() -> bool:
            return self.stop_requested.is_set() or time.monotonic() >= deadline

        due = Due()
        try:
            while regenerate_slice(regeneration, due, should_stop=should_stop):
                _sync_due(due)
                if should_stop():
                    release_regeneration(regeneration)
                    return [] if self.stop_requested.is_set() else [regeneration_id]
        except StrataError as error:
            # It is as far as its row says; the reconciliation asks for it again.
            logger.warning("%s waits: %s", regeneration, error)
            return []
        except Exception:
            logger.warning("%s met with a defect", regeneration, exc_info=True)
            return []
        finally:
            _sync_due(due)
            if due.text_count:
                enqueue_reconciliation()  # whoever has them written
        following = Regeneration.objects.claimable().values_list("pk", flat=True)[:1]
        return list(following)


def _sync_due(due: Due) -> None:
    for build_id in due.builds:
        sync.delay(build_id=build_id)
    due.builds.clear()


def _sync(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    count = services.sync_nodes(build, should_stop=should_stop)
    if not count:
        revisions.resolve_changes(most=revisions.SLICE)  # the reconciliation looks at all
    return count


def _plan(artifact_id: UUID, build: IndexBuild, kinds: list[str] | None = None) -> None:
    try:
        services.plan_nodes(artifact_id, build, kinds)
    except StrataError as error:
        # The reconciliation asks for it again; the other builds have their turn meanwhile.
        logger.warning("Planning %s for %s waits: %s", artifact_id, build, error)
        services.note_problem(build, error)


syncing = BuildWorker(_sync, services.note_problem)
planning = PlanWorker(
    unplanned_artifacts, _plan, syncing, lambda build_id: sync.delay(build_id=build_id)
)
regenerating = RegenerationWorker()


@shared_task
def plan_nodes(*, artifact_id: str, kinds: list[str] | None = None) -> None:
    """Bring the ledger of every build that it concerns up to date with one artifact, or with
    its nodes of some kinds."""
    for build in IndexBuild.objects.concerned_with(UUID(artifact_id)).working():
        _plan(UUID(artifact_id), build, kinds)
        if (
            Node.objects.filter(build=build, artifact=UUID(artifact_id))
            .exclude(state=Node.State.SYNCED)
            .exists()
        ):
            sync.delay(build_id=build.pk)


@shared_task
def plan_build(*, build_id: int) -> None:
    """Bring the ledger of one build up to date with the artifacts it does not mirror yet."""
    for left_id in planning.run(build_id):
        plan_build.delay(build_id=left_id)


@shared_task
def sync(*, build_id: int) -> None:
    """Sync a build, and come again where that takes longer than a round."""
    for left_id in syncing.run(build_id):
        sync.delay(build_id=left_id)


@shared_task
def regenerate(*, regeneration_id: str) -> None:
    """Go through a regeneration, and come again where that takes longer than a round."""
    for left_id in regenerating.run(UUID(regeneration_id)):
        regenerate.delay(regeneration_id=str(left_id))


@shared_task
def reconcile_indexes() -> None:
    """Wake whatever the rows say is not synced: lost messages, bulk writes, dead workers."""
    lifecycle.pause_overdue()
    for build in IndexBuild.objects.working():
        for artifact_id in services.audit_documents(build):
            plan_nodes.delay(artifact_id=str(artifact_id))
        if unplanned_artifacts(build).exists():
            plan_build.delay(build_id=build.pk)
        if Node.objects.unsynced(build).exists() or Node.objects.removable(build).exists():
            sync.delay(build_id=build.pk)
    for regeneration_id in Regeneration.objects.claimable().values_list("pk", flat=True):
        regenerate.delay(regeneration_id=str(regeneration_id))
    revisions.resolve_changes()
    tidy_store.delay()


@shared_task
def tidy_store() -> None:
    """Remove what builds that were given up left, and mend what a slow store did too late;
    publish which builds are live.

    Where the store is open to every worker; the embedded one is the process's own.
    """
    try:
        lifecycle.remove_retired()
        removal.go_on_removing()
        lifecycle.publish_aliases()
        for build in IndexBuild.objects.working():
            if count := verification.remove_orphans(build):
                logger.warning("%d points of %s had no row in the ledger; removed", count, build)
            if count := verification.resolve_unconfirmed_writes(build):
                logger.warning("%d points of %s came or went too late; mended", count, build)
                sync.delay(build_id=build.pk)
    except StrataError as error:
        logger.warning("Tidying the vector store waits: %s", error)


@shared_task
def verify_build(*, build_id: int, repair: bool) -> None:
    """Verify a build, and keep the report with it."""
    build = IndexBuild.objects.receiving().filter(pk=build_id).first()
    if build is None:
        return
    try:
        verification.keep_report(build, repair=repair)
    except StrataError as error:
        logger.warning("%s cannot be verified: %s", build, error)
        return
    if repair:
        reconcile_indexes.delay()


def enqueue_reconciliation() -> None:
    """Have every app look now at what its rows say is undone, and not within the minute."""
    for entry in current_app.conf.beat_schedule.values():
        current_app.tasks[entry["task"]].delay()
