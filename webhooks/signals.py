"""How an event reaches its receivers. The whole flow, in one place:

something happened  -> services.emit_event     in its transaction: a row per receiver
Delivery saved      -> commit -> tasks.send_due_deliveries
                                               due rows -> signed POSTs -> delivered, or
                                               due again later, given up after a day
each minute (beat)  -> tasks.reconcile_deliveries     due rows that no message announced
"""

from typing import Any

from django.db import transaction
from django.db.models.signals import post_save
from django.dispatch import receiver

from webhooks import tasks
from webhooks.models import Delivery


@receiver(post_save, sender=Delivery, dispatch_uid="webhooks.delivery_saved")
def enqueue_delivery(instance: Delivery, *, raw: bool = False, **kwargs: Any) -> None:
    if raw or instance.state != Delivery.State.DUE:
        return
    transaction.on_commit(tasks.send_due_deliveries.delay, robust=True)
