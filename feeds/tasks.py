"""Celery tasks of sources; each calls a service and returns nothing.

A message only wakes a worker and may be lost, doubled or late: the rows say what is due.
"""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.enqueueing import enqueue_once
from core.workers import BatchWorker
from feeds import services
from feeds.models import Feed


class FeedWorker(BatchWorker[int]):
    """Works on feeds in turns; a stop request ends it between two entries."""

    def run_batch(self, key: int) -> bool:
        return services.work_on_feed(key, self.stop_requested.is_set)


feed_worker = FeedWorker()


@shared_task
def work_on_feed(*, feed_id: int) -> None:
    for unfinished in feed_worker.run(feed_id):
        enqueue_once(work_on_feed, feed_id=unfinished)
    _enqueue_next()


def _enqueue_next() -> None:
    """Wake a worker for what falls due before the next reconciliation."""
    due_at = services.find_next_due_at()
    if due_at is None:
        return
    seconds = (due_at - timezone.now()).total_seconds()
    if 0 < seconds < settings.STRATA_RECONCILE_SECONDS:
        reconcile_feeds.apply_async(countdown=seconds)


@shared_task
def reconcile_feeds() -> None:
    """Follow the specs, and enqueue what is due."""
    services.sync_feeds()
    for feed_id in Feed.objects.claimable().values_list("pk", flat=True):
        enqueue_once(work_on_feed, feed_id=feed_id)
