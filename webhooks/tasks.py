"""Celery tasks of webhooks; each calls a service and returns nothing.

A message only wakes a worker and may be lost, doubled or late: the rows say what is due.
"""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core.workers import BatchWorker
from webhooks import services
from webhooks.models import Delivery


class DeliveryWorker(BatchWorker[str]):
    """Sends due deliveries; a stop request ends it between two batches."""

    def run_batch(self, key: str) -> bool:
        if services.send_due_deliveries(should_stop=self.stop_requested.is_set):
            _enqueue_next_attempt()
        return False


def _enqueue_next_attempt() -> None:
    """Enqueue sending of deliveries that fall due before the next reconciliation."""
    if (due_at := services.find_next_attempt_at()) is not None:
        seconds = (due_at - timezone.now()).total_seconds()
        if seconds < settings.STRATA_RECONCILE_SECONDS:
            send_due_deliveries.apply_async(countdown=max(0.0, seconds))


delivery_worker = DeliveryWorker()


@shared_task
def send_due_deliveries() -> None:
    delivery_worker.run("all")


@shared_task
def reconcile_deliveries() -> None:
    """Enqueue sending where deliveries are due that no message announced."""
    services.clean_up_deliveries()
    if Delivery.objects.claimable().exists():
        send_due_deliveries.delay()
