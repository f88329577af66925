"""Celery tasks that plan and write summaries and questions: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from celery import shared_task

from core.exceptions import StrataError
from indexing.models import IndexBuild
from indexing.services import set_build_problem
from indexing.tasks import plan_nodes
from indexing.workers import BuildWorker, PlanWorker
from summaries import services

logger = logging.getLogger(__name__)


def _write_batch(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    result = services.WriteBatchResult()
    try:
        services.write_due_texts(build, result, should_stop=should_stop)
    finally:  # what was written before an outage counts
        for artifact_id, kinds in result.kinds_by_artifact.items():
            plan_nodes.delay(artifact_id=str(artifact_id), kinds=sorted(kinds))
    return result.row_count


def _plan_or_log(artifact_id: UUID, build: IndexBuild) -> bool:
    try:
        services.plan_written_texts(artifact_id, build)
    except StrataError as error:
        # The reconciliation enqueues it again; meanwhile the other builds are planned.
        logger.warning("Planning to write about %s waits: %s", artifact_id, error)
        set_build_problem(build, error, field="writing_problem")
        return False
    return True


writing_worker = BuildWorker(_write_batch, partial(set_build_problem, field="writing_problem"))
text_plan_worker = PlanWorker(
    services.artifacts_without_planned_texts,
    _plan_or_log,
    writing_worker,
    lambda build_id: write_due_texts.delay(build_id=build_id),
)


@shared_task
def plan_written_texts(*, artifact_id: str) -> None:
    """Plan the summaries and questions of one artifact, in every build it affects."""
    for build in IndexBuild.objects.affected_by_artifact(UUID(artifact_id)).not_paused():
        if _plan_or_log(UUID(artifact_id), build) and services.has_claimable_texts(build):
            write_due_texts.delay(build_id=build.pk)


@shared_task
def plan_build_written_texts(*, build_id: int) -> None:
    """Plan the texts of a build's unplanned artifacts; enqueue itself if work is left."""
    for unfinished_build_id in text_plan_worker.run(build_id):
        plan_build_written_texts.delay(build_id=unfinished_build_id)


@shared_task
def write_due_texts(*, build_id: int) -> None:
    """Write a build's due texts; enqueue itself if work is left."""
    for unfinished_build_id in writing_worker.run(build_id):
        write_due_texts.delay(build_id=unfinished_build_id)


@shared_task
def reconcile_written_texts() -> None:
    """Enqueue the work that no signal announced: after lost messages, outages, dead workers."""
    for build in IndexBuild.objects.not_paused():
        if services.has_claimable_texts(build):
            write_due_texts.delay(build_id=build.pk)
        if services.artifacts_without_planned_texts(build).exists():
            plan_build_written_texts.delay(build_id=build.pk)
