"""The webhook outbox: one row for each event and receiver."""

import uuid

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from core.leases import LeasedQuerySet, LeasedRow

# Seconds to wait after each failed attempt; together more than a day.
BACKOFF_SECONDS = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600)


class DeliveryQuerySet(LeasedQuerySet["Delivery"]):
    def due(self) -> "DeliveryQuerySet":
        """Deliveries not yet delivered or given up, to receivers that are still configured."""
        return self.filter(state=Delivery.State.DUE, url__in=settings.STRATA_WEBHOOK_URLS)

    def claimable(self) -> "DeliveryQuerySet":
        """Due now, and no worker holds a running lease on them."""
        return self.due().free().filter(next_attempt_at__lte=Now())


class Delivery(LeasedRow):
    """One event for one receiver."""

    class State(models.TextChoices):
        DUE = "due"
        DELIVERED = "delivered"
        GIVEN_UP = "given_up"

    id = models.UUIDField(
        primary_key=True, default=uuid.uuid4, help_text="Sent as webhook-id, at each attempt."
    )
    url = models.CharField(max_length=2_000)
    event = models.CharField(max_length=60)
    payload = models.JSONField(encoder=DjangoJSONEncoder)
    artifact_id = models.UUIDField(
        null=True, db_index=True, help_text="Of the document that the event is about, if any."
    )
    state = models.CharField(max_length=10, choices=State, default=State.DUE)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    last_status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of an answer.")
    created_at = models.DateTimeField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True)

    given_up_state = State.GIVEN_UP

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["next_attempt_at"], name="delivery_due", condition=Q(state="due")),
            models.Index(
                fields=["delivered_at"],
                name="delivery_delivered",
                condition=Q(state="delivered"),
            ),
            models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.url}"

    @classmethod
    def max_attempts(cls) -> int:
        return len(BACKOFF_SECONDS) + 1
