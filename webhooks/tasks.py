"""Celery tasks of webhooks; each calls a service and returns nothing.

A message only wakes: the rows say what is due, so it may be lost, doubled or late.
"""

import threading

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.workers import Worker
from webhooks import services
from webhooks.models import Delivery


class DeliveryWorker(Worker):
    """Delivers what is due by one thread of the process at a time.

    A second thread would only wait for the same receivers; it leaves its deliveries to the
    first and goes. A stop request ends the round between two batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self._run_requested = threading.Event()

    def run(self) -> int:
        """How many attempts were made."""
        self._run_requested.set()
        attempt_count = 0
        # Looked at again after letting go: what came in between is not left behind.
        while self._run_requested.is_set() and not self.stop_requested.is_set():
            with self._try_acquire() as is_ours:
                if not is_ours:
                    break
                self._run_requested.clear()
                attempt_count += services.send_due_deliveries(
                    should_stop=self.stop_requested.is_set
                )
        return attempt_count


delivery_worker = DeliveryWorker()


@shared_task
def send_due_deliveries() -> None:
    """Deliver what is due, and come again for what falls due before the next reconciliation."""
    if not delivery_worker.run():
        return
    if (due_at := services.find_next_attempt_at()) is not None:
        seconds = (due_at - timezone.now()).total_seconds()
        if seconds < settings.STRATA_RECONCILE_SECONDS:
            send_due_deliveries.apply_async(countdown=max(0.0, seconds))


@shared_task
def reconcile_deliveries() -> None:
    """Enqueue sending where deliveries are due that no message announced."""
    services.clean_up_deliveries()
    if Delivery.objects.claimable().exists():
        send_due_deliveries.delay()
