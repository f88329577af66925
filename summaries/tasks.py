"""Celery tasks that write summaries and questions: ids in, service calls, nothing out.

``indexing/tasks.py`` plans the texts together with the nodes. Every task may run twice, late, or
after the object it names was deleted.
"""

from collections.abc import Callable
from functools import partial

from celery import shared_task

from core.enqueueing import enqueue_once
from indexing.models import IndexBuild
from indexing.services import set_build_problem
from indexing.tasks import plan_build
from indexing.workers import BuildWorker
from summaries import services


def _write_batch(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    result = services.WriteBatchResult()
    try:
        services.write_due_texts(build, result, should_stop=should_stop)
    finally:  # also for texts written before an outage
        if result.artifact_ids:
            enqueue_once(plan_build, build_id=build.pk)
    return result.row_count


writing_worker = BuildWorker(_write_batch, partial(set_build_problem, field="writing_problem"))


@shared_task
def write_due_texts(*, build_id: int) -> None:
    """Write a build's due texts; enqueue itself if work is left."""
    for unfinished_build_id in writing_worker.run(build_id):
        enqueue_once(write_due_texts, build_id=unfinished_build_id)


@shared_task
def reconcile_written_texts() -> None:
    """Enqueue work that no signal enqueued, after lost messages, outages or dead workers, and
    delete stored completions that no document would take with it."""
    services.delete_completions_without_document()
    for build in IndexBuild.objects.not_paused():
        if services.has_claimable_texts(build):
            enqueue_once(write_due_texts, build_id=build.pk)
