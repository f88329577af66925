"""Decide whether a request is retried, and after how long. Sends nothing."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from strata_client.exceptions import StrataError, Unavailable

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 60.0  # for a longer wait, the caller gets the error


def compute_backoff(tries: int) -> float:
    """Return random seconds to wait after this number of tries, up to a bound that doubles.

    Source:
        Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: "full jitter".
    """
    doublings = min(tries - 1, 10)  # enough to reach the bound, without overflow
    bound = min(FIRST_BACKOFF_SECONDS * 2**doublings, MAX_BACKOFF_SECONDS)
    return random.uniform(0, bound)  # noqa: S311 - not used for security


def compute_retry_wait(error: StrataError, tries: int, *, is_idempotent: bool) -> float | None:
    """Return the seconds until the request may be sent again; None if it must not.

    ``is_idempotent``: a second request has no further effect. Other requests are sent again only
    if the server sent ``Retry-After``, or if they never reached it.
    """
    if error.status in {429, 503} and error.retry_after is not None:
        if error.retry_after > MAX_RETRY_AFTER_SECONDS:
            return None
        return error.retry_after + compute_backoff(tries)
    if error.code == "unreachable":
        return compute_backoff(tries)
    if is_idempotent and (error.code == "cut" or error.status in {429, 502, 503, 504}):
        return compute_backoff(tries)
    return None


def error_from_transport(error: httpx.RequestError, url: str) -> Unavailable:
    """Translate a transport error. A timeout is the caller's own limit and is not retried."""
    if isinstance(error, httpx.TimeoutException):
        return Unavailable(
            f"{url} did not answer in time.", code="timeout", fix="Give it a longer timeout."
        )
    if isinstance(error, httpx.ConnectError):
        return Unavailable(
            f"Cannot connect to {url}.",
            code="unreachable",
            fix="Start the server, or check base_url.",
        )
    return Unavailable(f"The connection to {url} was cut.", code="cut", fix="Try again.")


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Convert ``Retry-After``, seconds or a date (RFC 9110, section 10.2.3), to seconds; None if
    invalid."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
