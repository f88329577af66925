"""When a request is sent again, and after how long. Reads no clock and sends nothing."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from strata_client.exceptions import StrataError, Unavailable

FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 8.0
LONGEST_RETRY_AFTER_SECONDS = 60.0  # told to wait longer, the caller hears of it instead


def back_off(tries: int) -> float:
    """Seconds to wait after so many tries: at random, up to a bound that doubles.

    Source:
        Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: "full jitter".
    """
    doublings = min(tries - 1, 10)  # far beyond the bound, and within a float
    bound = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS)
    return random.uniform(0, bound)  # noqa: S311 - spreads clients, guards nothing


def wait_after(error: StrataError, tries: int, *, is_repeatable: bool) -> float | None:
    """Seconds until the same request may be sent again; None where it must not.

    ``is_repeatable`` where a second one changes nothing that the first did not. Told by the
    server when to come back, any request may; one that never reached it, too.
    """
    if error.status in {429, 503} and error.retry_after is not None:
        if error.retry_after > LONGEST_RETRY_AFTER_SECONDS:
            return None
        return error.retry_after + back_off(tries)
    if error.code == "unreachable":
        return back_off(tries)
    if is_repeatable and (error.code == "cut" or error.status in {429, 502, 503, 504}):
        return back_off(tries)
    return None


def unreached(error: httpx.RequestError, url: str) -> Unavailable:
    """What kept a request from its answer. A timeout is the caller's own bound, and final."""
    if isinstance(error, httpx.TimeoutException):
        return Unavailable(
            f"{url} did not answer in time.", code="timeout", fix="Give it a longer timeout."
        )
    if isinstance(error, httpx.ConnectError):
        return Unavailable(
            f"Nothing answers at {url}.", code="unreachable", fix="Start it, or check base_url."
        )
    return Unavailable(f"The connection to {url} was cut.", code="cut", fix="Try again.")


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds, of either form of the header (RFC 9110, section 10.2.3); None where it is unfit."""
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
