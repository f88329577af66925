"""Celery entry points for webhooks: service calls, nothing out.

A message only wakes: the rows say what is due, so it may be lost, doubled or late.
"""

import threading

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.workers import Worker
from webhooks import services
from webhooks.models import Delivery


class DeliveryRound(Worker):
    """Delivers what is due by one thread of the process at a time.

    A second thread would only wait for the same receivers; it leaves its deliveries to the
    first and goes. A stop request ends the round between two batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_asked = threading.Event()

    def run(self) -> int:
        """How many attempts were made."""
        self._is_asked.set()
        attempt_count = 0
        # Looked at again after letting go: what came in between is not left behind.
        while self._is_asked.is_set() and not self.is_stopping.is_set():
            with self._turn() as is_ours:
                if not is_ours:
                    break
                self._is_asked.clear()
                attempt_count += services.deliver(should_stop=self.is_stopping.is_set)
        return attempt_count


delivering = DeliveryRound()


@shared_task
def deliver() -> None:
    """Deliver what is due, and come again for what falls due before the next sweep."""
    if not delivering.run():
        return
    if (due_at := services.next_attempt_at()) is not None:
        seconds = (due_at - timezone.now()).total_seconds()
        if seconds < settings.STRATA_SWEEP_SECONDS:
            deliver.apply_async(countdown=max(0.0, seconds))


@shared_task
def sweep_deliveries() -> None:
    """Wake whatever is due: lost messages, receivers that are back, dead workers."""
    services.tidy_deliveries()
    if Delivery.objects.claimable().exists():
        deliver.delay()
