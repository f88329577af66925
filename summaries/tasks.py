"""Celery entry points for what is written about documents: ids in, service calls, nothing out.

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


def _write(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    written = services.Written()
    try:
        services.write_due(build, written, should_stop=should_stop)
    finally:  # what was written before an outage counts
        for artifact_id, kinds in written.touched.items():
            plan_nodes.delay(artifact_id=str(artifact_id), kinds=sorted(kinds))
    return written.row_count


def _plan(artifact_id: UUID, build: IndexBuild) -> bool:
    try:
        services.plan_writing(artifact_id, build)
    except StrataError as error:
        # The reconciliation asks for it again; the other builds have their turn meanwhile.
        logger.warning("Planning to write about %s waits: %s", artifact_id, error)
        set_build_problem(build, error, field="writing_problem")
        return False
    return True


writing = BuildWorker(_write, partial(set_build_problem, field="writing_problem"))
planning = PlanWorker(
    services.unplanned_artifacts, _plan, writing, lambda build_id: write.delay(build_id=build_id)
)


@shared_task
def plan_writing(*, artifact_id: str) -> None:
    """Work out what is owed about one artifact, in every build that it concerns."""
    for build in IndexBuild.objects.affected_by_artifact(UUID(artifact_id)).not_paused():
        if _plan(UUID(artifact_id), build) and services.has_writable(build):
            write.delay(build_id=build.pk)


@shared_task
def plan_build_writing(*, build_id: int) -> None:
    """Work out what is owed about the artifacts of one build of which that is not known yet."""
    for left_id in planning.run(build_id):
        plan_build_writing.delay(build_id=left_id)


@shared_task
def write(*, build_id: int) -> None:
    """Write for a build, and come again where that takes longer than a round."""
    for left_id in writing.run(build_id):
        write.delay(build_id=left_id)


@shared_task
def reconcile_writing() -> None:
    """Wake whatever the rows say is not written: lost messages, outages, dead workers."""
    for build in IndexBuild.objects.not_paused():
        if services.has_writable(build):
            write.delay(build_id=build.pk)
        if services.unplanned_artifacts(build).exists():
            plan_build_writing.delay(build_id=build.pk)
