"""Webhooks: events that are sent to other systems."""

from typing import Literal

from typing_extensions import TypedDict

from strata_types.common import AnyList


class Delivery(TypedDict):
    id: str
    """Sent as `webhook-id`."""
    receiver: str
    """Its address, without user, password and query."""
    event: str
    artifact_id: str | None
    """Of the document that the event is about."""
    state: Literal["due", "delivered", "given_up"]
    attempts: int
    last_status: int | None
    """The HTTP status that the receiver answered."""
    last_error: str
    next_attempt_at: str
    created_at: str
    delivered_at: str | None


class EmittedDeliveries(AnyList):
    results: list[Delivery]


class DeliveryList(EmittedDeliveries):
    receivers: list[str]
    """Their addresses, from the settings of the service."""
