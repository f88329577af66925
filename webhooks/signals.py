"""How an event reaches its receivers. The whole flow, in one place:

core.events.announce -> services.emit_event     in its transaction: a row per receiver
Delivery saved      -> commit -> tasks.send_due_deliveries
                                               due rows -> signed POSTs -> delivered, or
                                               due again later, given up after a day
each minute (beat)  -> tasks.reconcile_deliveries     due rows that no message announced
Artifact deleted    -> services.erase_artifact in the same transaction
"""

from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from core.events import happened
from documents.models import Artifact
from webhooks import tasks
from webhooks.models import Delivery
from webhooks.services import emit_event, erase_artifact


@receiver(post_save, sender=Delivery, dispatch_uid="webhooks.delivery_saved")
def enqueue_delivery(instance: Delivery, *, raw: bool = False, **kwargs: Any) -> None:
    if raw or instance.state != Delivery.State.DUE:
        return
    transaction.on_commit(tasks.send_due_deliveries.delay, robust=True)


@receiver(happened, dispatch_uid="webhooks.happened")
def emit(event: str, payload: dict[str, Any], **kwargs: Any) -> None:
    emit_event(event, payload)


@receiver(post_delete, sender=Artifact, dispatch_uid="webhooks.artifact_deleted")
def erase_deliveries(instance: Artifact, **kwargs: Any) -> None:
    erase_artifact(instance.pk)
