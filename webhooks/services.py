"""Write to the webhook outbox: add events, send deliveries, retry them, clean up.

The rows are the queue: every function can run twice, late, or on two machines at once. Nothing here
enqueues tasks.
"""

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Min, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from core.leases import FRESH, NO_LEASE, Claim
from webhooks import sending
from webhooks.exceptions import NoReceiver
from webhooks.models import BACKOFF_SECONDS, Delivery
from webhooks.sending import DeliveryResponse

logger = logging.getLogger(__name__)

BATCH_SIZE = 8  # posted at the same time
DELIVERED_RETENTION = timedelta(days=7)
MAX_ERROR_CHARS = 500  # of an error kept on a row
HTTP_GONE = 410  # by the specification, the receiver wants no more events


def emit_event(event: str, payload: dict[str, Any]) -> list[Delivery]:
    """Add one delivery for each configured receiver; sent after the surrounding transaction
    commits.

    Without receivers nothing is written. A failed delivery is retried for about a day.
    """
    return [
        Delivery.objects.create(
            url=url, event=event, payload=payload, artifact_id=payload.get("artifact_id")
        )
        for url in settings.STRATA_WEBHOOK_URLS
    ]


def emit_test_event() -> list[Delivery]:
    """Store a test event for each receiver.

    Raises:
        NoReceiver: none is configured.
    """
    if not settings.STRATA_WEBHOOK_URLS:
        raise NoReceiver(fix="Set STRATA_WEBHOOK_URLS and STRATA_WEBHOOK_SECRET.")
    return emit_event("webhook.test", {})


def erase_artifact(artifact_id: UUID) -> None:
    """Erase what deliveries say about a deleted document: only its id, revision and status are
    still sent."""
    deliveries = Delivery.objects.filter(artifact_id=artifact_id)
    deliveries.exclude(state=Delivery.State.DUE).delete()
    for delivery in deliveries.select_for_update():
        payload = delivery.payload | {"external_id": None, "error": None}
        deliveries.filter(pk=delivery.pk).update(payload=payload)


# --- Delivering ------------------------------------------------------------------------------


def send_due_deliveries(*, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Send due deliveries in batches; return how many attempts were made.

    A receiver that does not answer at all is skipped until the next call, so that it does not delay
    the others.
    """
    attempt_count = 0
    unresponsive_urls: set[str] = set()
    while not should_stop():
        claim = claim_deliveries(BATCH_SIZE, excluded_urls=unresponsive_urls)
        if claim is None:
            break
        deliveries = list(claim.rows)
        with claim.working():  # no transaction is open meanwhile
            outcomes = sending.post_deliveries(deliveries, settings.STRATA_WEBHOOK_SECRET)
            for delivery, outcome in zip(deliveries, outcomes, strict=True):
                save_response(claim, delivery, outcome)
                if outcome.status is None:
                    unresponsive_urls.add(delivery.url)
        attempt_count += len(deliveries)
    return attempt_count


def claim_deliveries(limit: int, *, excluded_urls: Collection[str] = ()) -> Claim[Delivery] | None:
    """Claim up to ``limit`` due deliveries.

    Those with the fewest attempts come first, so that a backlog does not delay new events.
    """
    claimable = Delivery.objects.claimable().exclude(url__in=excluded_urls)
    claimable = claimable.filter(attempts__lt=Delivery.max_attempts())
    return claimable.order_by("attempts", "next_attempt_at", "pk").claim(limit)


def save_response(claim: Claim[Delivery], delivery: Delivery, outcome: DeliveryResponse) -> None:
    """Save the result of an attempt; no effect if another worker holds the lease now."""
    values: dict[str, Any] = {
        "last_status": outcome.status,
        "last_error": _describe_failure(outcome),
        **NO_LEASE,
    }
    if outcome.is_success:
        values |= {"state": Delivery.State.DELIVERED, "delivered_at": Now()}
    elif outcome.status == HTTP_GONE or delivery.attempts >= Delivery.max_attempts():
        values |= {"state": Delivery.State.GIVEN_UP}
        logger.warning("%s is given up: %s", delivery, values["last_error"])
    else:
        wait = timedelta(seconds=BACKOFF_SECONDS[delivery.attempts - 1])
        values |= {"next_attempt_at": Now() + wait}
    claim.rows.filter(pk=delivery.pk).update(**values)


def _describe_failure(outcome: DeliveryResponse) -> str:
    if outcome.is_success:
        return ""
    if outcome.status is not None:
        return f"It answered {outcome.status}."
    return outcome.error[:MAX_ERROR_CHARS]


def find_next_attempt_at() -> datetime | None:
    """When the next waiting delivery falls due; None if none waits."""
    due = Delivery.objects.due().filter(lease_token=None, next_attempt_at__gt=Now())
    return due.aggregate(first=Min("next_attempt_at"))["first"]


# --- Retrying and cleaning up ----------------------------------------------------------------


def retry_deliveries(deliveries: QuerySet[Delivery]) -> int:
    """Reset these deliveries, whatever their state, so that they are sent again; return how
    many."""
    return deliveries.update(
        state=Delivery.State.DUE, next_attempt_at=Now(), delivered_at=None, **FRESH
    )


def clean_up_deliveries() -> None:
    """Give up deliveries that cannot be attempted again, and delete those delivered long ago."""
    waiting = Delivery.objects.filter(state=Delivery.State.DUE)
    waiting.exclude(url__in=settings.STRATA_WEBHOOK_URLS).update(
        state=Delivery.State.GIVEN_UP, last_error="Its address is no longer configured."
    )
    Delivery.objects.claimable().give_up_exhausted()
    oldest = timezone.now() - DELIVERED_RETENTION
    Delivery.objects.filter(state=Delivery.State.DELIVERED, delivered_at__lt=oldest).delete()
