"""Celery tasks of edits. A message only wakes a worker: the rows say what is due."""

from celery import shared_task

from core.workers import BatchWorker
from curation import edits
from curation.models import Edit


class EditWorker(BatchWorker[str]):
    """Works on edits in turns; a stop request ends it between two batches."""

    def run_batch(self, key: str) -> bool:
        return edits.work_on_next()


edit_worker = EditWorker()


@shared_task
def work_on_edits() -> None:
    if edit_worker.run("all"):
        work_on_edits.delay()


@shared_task
def reconcile_edits() -> None:
    """Go on with edits that no message announced, and forget old ones."""
    edits.forget_old_edits()
    if Edit.objects.unfinished().exists():
        work_on_edits.delay()
