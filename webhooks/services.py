"""Write to the webhook outbox: add events, send deliveries, retry them, clean up.

The rows are the queue: everything here can run twice, late, or beside itself on another
machine. Nothing here enqueues.
"""

import logging
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Min, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from webhooks import sending
from webhooks.models import Delivery
from webhooks.sending import DeliveryResponse

logger = logging.getLogger(__name__)

# Seconds after each failed attempt; with the last one, over a day has passed.
BACKOFF_SECONDS = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600)
MAX_ATTEMPTS = len(BACKOFF_SECONDS) + 1
BATCH_SIZE = 8  # posted at the same time
LEASE_SECONDS = 60  # several times what a batch may take
DELIVERED_RETENTION = timedelta(days=7)
MAX_ERROR_CHARS = 500  # of what went wrong
HTTP_GONE = 410  # the specification's word for: send no more of this


def emit_event(event: str, payload: dict[str, Any]) -> None:
    """Add one delivery for each configured receiver; sent after the surrounding transaction
    commits.

    Without receivers nothing is written. What fails to be told is told again for about a day.
    """
    for url in settings.STRATA_WEBHOOK_URLS:
        Delivery.objects.create(url=url, event=event, payload=payload)


# --- Delivering ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """Deliveries one worker holds a lease on; ``token`` proves it still does."""

    token: uuid.UUID
    deliveries: list[Delivery]


def send_due_deliveries(*, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Send due deliveries in batches; return how many attempts were made.

    A receiver that does not answer at all is left alone until the next call, so that those
    which do are not kept waiting for it.
    """
    attempt_count = 0
    unresponsive_urls: set[str] = set()
    while not should_stop():
        claim = claim_deliveries(BATCH_SIZE, excluded_urls=unresponsive_urls)
        if claim is None:
            break
        # No transaction is open meanwhile.
        outcomes = sending.post_deliveries(claim.deliveries, settings.STRATA_WEBHOOK_SECRET)
        for delivery, outcome in zip(claim.deliveries, outcomes, strict=True):
            save_response(delivery, claim.token, outcome)
            if outcome.status is None:
                unresponsive_urls.add(delivery.url)
        attempt_count += len(outcomes)
    return attempt_count


def claim_deliveries(limit: int, *, excluded_urls: Collection[str] = ()) -> ClaimedDelivery | None:
    """Take a lease on up to ``limit`` due deliveries; the attempt is counted now.

    Those tried least come first: a receiver's backlog does not hold up what is new.
    """
    token = uuid.uuid4()
    with transaction.atomic():
        claimable = Delivery.objects.claimable().exclude(url__in=excluded_urls)
        if connection.features.has_select_for_update_skip_locked:
            claimable = claimable.select_for_update(skip_locked=True)
        claimable = claimable.filter(attempts__lt=MAX_ATTEMPTS)
        ids = list(
            claimable.order_by("attempts", "next_attempt_at", "pk").values_list("pk", flat=True)[
                :limit
            ]
        )
        if not ids:
            return None
        Delivery.objects.filter(pk__in=ids).update(
            attempts=F("attempts") + 1,
            lease_token=token,
            leased_until=Now() + timedelta(seconds=LEASE_SECONDS),
        )
    return ClaimedDelivery(token, list(Delivery.objects.filter(lease_token=token)))


def save_response(delivery: Delivery, token: uuid.UUID, outcome: DeliveryResponse) -> None:
    """Save the result of an attempt; no effect if another worker holds the lease now."""
    values: dict[str, Any] = {
        "last_status": outcome.status,
        "last_error": _describe_failure(outcome),
        "lease_token": None,
        "leased_until": None,
    }
    if outcome.is_success:
        values |= {"state": Delivery.State.DELIVERED, "delivered_at": Now()}
    elif outcome.status == HTTP_GONE or delivery.attempts >= MAX_ATTEMPTS:
        values |= {"state": Delivery.State.GIVEN_UP}
        logger.warning("%s is given up: %s", delivery, values["last_error"])
    else:
        wait = timedelta(seconds=BACKOFF_SECONDS[delivery.attempts - 1])
        values |= {"next_attempt_at": Now() + wait}
    Delivery.objects.filter(pk=delivery.pk, lease_token=token).update(**values)


def _describe_failure(outcome: DeliveryResponse) -> str:
    if outcome.is_success:
        return ""
    if outcome.status is not None:
        return f"It answered {outcome.status}."
    return outcome.error[:MAX_ERROR_CHARS]


def find_next_attempt_at() -> datetime | None:
    """When the next delivery that now waits falls due; None if none does."""
    due = Delivery.objects.due().filter(lease_token=None, next_attempt_at__gt=Now())
    return due.aggregate(first=Min("next_attempt_at"))["first"]


def release_all_leases() -> int:
    """Release every lease. Only for a process that is the only worker."""
    held = Delivery.objects.filter(lease_token__isnull=False)
    return held.update(lease_token=None, leased_until=None)


# --- Watching over it ------------------------------------------------------------------------


def retry_deliveries(deliveries: QuerySet[Delivery]) -> int:
    """Reset these deliveries, whatever their state, so that they are sent again; return how
    many."""
    return deliveries.update(
        state=Delivery.State.DUE,
        attempts=0,
        next_attempt_at=Now(),
        delivered_at=None,
        lease_token=None,
        leased_until=None,
    )


def clean_up_deliveries() -> None:
    """Give up deliveries that cannot be attempted again, and delete those delivered long ago."""
    waiting = Delivery.objects.filter(state=Delivery.State.DUE)
    waiting.exclude(url__in=settings.STRATA_WEBHOOK_URLS).update(
        state=Delivery.State.GIVEN_UP, last_error="Its address is no longer configured."
    )
    Delivery.objects.claimable().filter(attempts__gte=MAX_ATTEMPTS).update(
        state=Delivery.State.GIVEN_UP, last_error="Its worker died at the last attempt."
    )
    oldest = timezone.now() - DELIVERED_RETENTION
    Delivery.objects.filter(state=Delivery.State.DELIVERED, delivered_at__lt=oldest).delete()
