"""Celery entry points for what is written about documents: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from celery import shared_task

from documents.exceptions import StrataError
from indexing.kinds import awaited_artifacts
from indexing.models import IndexBuild
from indexing.services import note_problem
from indexing.tasks import BuildRound, plan_nodes
from summaries import services

logger = logging.getLogger(__name__)

SWEEP_LIMIT = 1_000  # artifacts a sweep wakes, per build


def _write(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    written = services.Written()
    try:
        services.write_due(build, written, should_stop=should_stop)
    finally:  # what was written before an outage counts
        for artifact_id, kinds in written.touched.items():
            plan_nodes.delay(artifact_id=str(artifact_id), kinds=sorted(kinds))
    return written.row_count


writing = BuildRound(_write, partial(note_problem, field="writing_problem"))


@shared_task
def plan_writing(*, artifact_id: str) -> None:
    """Work out what is owed about one artifact, in every build that it concerns."""
    for build in IndexBuild.objects.concerned_with(UUID(artifact_id)):
        try:
            services.plan_writing(UUID(artifact_id), build)
        except StrataError as error:
            # The sweep asks for it again; the other builds have their turn meanwhile.
            logger.warning("Planning to write about %s waits: %s", artifact_id, error)
            note_problem(build, error, field="writing_problem")
            continue
        if services.has_writable(build):
            write.delay(build_id=build.pk)


@shared_task
def write(*, build_id: int) -> None:
    """Write for a build until nothing is left."""
    writing.run(build_id)


@shared_task
def sweep_writing() -> None:
    """Wake whatever the rows say is not written: lost messages, outages, dead workers."""
    for build in IndexBuild.objects.receiving():
        if services.has_writable(build):
            write.delay(build_id=build.pk)
        for artifact_id in awaited_artifacts(build).values_list("pk", flat=True)[:SWEEP_LIMIT]:
            plan_writing.delay(artifact_id=str(artifact_id))
