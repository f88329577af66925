"""Send one signed POST for each delivery, as the Standard Webhooks specification defines it
(https://www.standardwebhooks.com). Nothing here reads or writes the database.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from django.core.serializers.json import DjangoJSONEncoder

from core.outbound import make_async_client
from webhooks.models import Delivery

SECRET_PREFIX = "whsec_"  # noqa: S105
KEY_LENGTHS = range(24, 65)  # bytes; from the specification
TIMEOUT_SECONDS = 10.0  # from the DNS look-up to the end of the answer's headers


@dataclass(frozen=True, slots=True)
class DeliveryResponse:
    """The result of an attempt: the HTTP ``status``, or the error if there was no answer."""

    status: int | None = None
    error: str = ""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def post_deliveries(deliveries: Sequence[Delivery], secret: str) -> list[DeliveryResponse]:
    """Post all at the same time; each outcome is known within ``TIMEOUT_SECONDS``."""
    key = decode_secret(secret)
    return asyncio.run(_post_all(deliveries, key))


async def _post_all(deliveries: Sequence[Delivery], key: bytes) -> list[DeliveryResponse]:
    # Redirects are not followed: what is signed for one receiver must not reach another.
    async with make_async_client(
        max_bytes=0, timeout=TIMEOUT_SECONDS, follow_redirects=False
    ) as client:
        return await asyncio.gather(*(_post(client, delivery, key) for delivery in deliveries))


async def _post(client: httpx.AsyncClient, delivery: Delivery, key: bytes) -> DeliveryResponse:
    body = render_body(delivery)
    headers = make_signature_headers(
        key, message_id=str(delivery.pk), timestamp=int(time.time()), body=body
    )
    headers |= {"Content-Type": "application/json", "User-Agent": "strata"}
    try:
        # Streamed, because the answer's body is never read: it may be endless.
        async with client.stream("POST", delivery.url, content=body, headers=headers) as response:
            return DeliveryResponse(response.status_code)
    except httpx.TimeoutException:
        return DeliveryResponse(error=f"No answer within {TIMEOUT_SECONDS:g} seconds.")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return DeliveryResponse(error=f"{type(error).__name__}: {error}")


def render_body(delivery: Delivery) -> bytes:
    """The body of the request, the same bytes at each attempt."""
    content = {
        "type": delivery.event,
        "timestamp": delivery.created_at,
        "data": delivery.payload,
    }
    return json.dumps(content, cls=DjangoJSONEncoder, ensure_ascii=False).encode()


def make_signature_headers(
    key: bytes, *, message_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """The three headers by which a receiver verifies who sent ``body``, and when.

    Source:
        Standard Webhooks, "Signature scheme": HMAC-SHA256 of ``id.timestamp.body``.
    """
    signed = b".".join([message_id.encode(), str(timestamp).encode(), body])
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def decode_secret(secret: str) -> bytes:
    """The key in a secret ``whsec_…``.

    Raises:
        ValueError: the prefix is missing, or no base64 of 24 to 64 bytes follows it.
    """
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError(f"It does not start with {SECRET_PREFIX}.")
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError(f"What follows {SECRET_PREFIX} is not base64.") from error
    if len(key) not in KEY_LENGTHS:
        raise ValueError(
            f"It holds {len(key)} bytes; {KEY_LENGTHS.start} to {KEY_LENGTHS.stop - 1} are allowed."
        )
    return key
