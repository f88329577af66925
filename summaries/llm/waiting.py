"""Turns, tries and how long somebody waits for them."""

import asyncio
import os
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from django.conf import settings

from summaries.exceptions import LanguageModelUnavailable

if TYPE_CHECKING:
    import httpx


class Patience:
    """How long somebody still waits; for ever where no seconds are given."""

    def __init__(self, seconds: float | None) -> None:
        self._ends_at = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds, and a moment where there are none: the first call is made in any case."""
        return None if self._ends_at is None else max(0.1, self._ends_at - time.monotonic())

    def ends_within(self, seconds: float) -> bool:
        return self._ends_at is not None and time.monotonic() + seconds >= self._ends_at


class Slots:
    """A semaphore whose waiters, in threads and on event loops, are served in turn."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0
        self._waiting: deque[Future[None]] = deque()

    @contextmanager
    def held(self) -> Iterator[None]:
        turn = self._queue()
        try:
            turn.result()
            yield
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def aheld(self) -> AsyncIterator[None]:
        turn = self._queue()
        try:
            await asyncio.wrap_future(turn)
            yield
        finally:
            self._leave(turn)

    def _queue(self) -> "Future[None]":
        turn: Future[None] = Future()
        with self._lock:
            self._waiting.append(turn)
            self._serve()
        return turn

    def _leave(self, turn: "Future[None]") -> None:
        if turn.cancel():  # interrupted before its turn came
            return
        with self._lock:
            self._taken -= 1
            self._serve()

    def _serve(self) -> None:
        while self._waiting and self._taken < max(1, settings.STRATA_LLM_CONCURRENCY):
            turn = self._waiting.popleft()
            if turn.set_running_or_notify_cancel():
                self._taken += 1
                turn.set_result(None)


slots = Slots()  # one for all models and all kinds of call
os.register_at_fork(after_in_child=slots.reset)  # its parent's calls do not end in a child


def make_waits() -> Iterator[float]:
    """Seconds before each retry: doubling, and spread so that clients do not come back at once."""
    for retry in range(settings.STRATA_LLM_RETRIES):
        longest = settings.STRATA_LLM_BACKOFF_SECONDS * 2**retry
        spread = random.uniform(0.5, 1)  # noqa: S311 - no secret depends on it
        yield spread * min(longest, settings.STRATA_LLM_MAX_WAIT_SECONDS)


def wait_after(error: LanguageModelUnavailable, waits: Iterator[float]) -> float:
    """Seconds until the next try; raises the error where there is to be none."""
    wait = next(waits, None)
    asked = error.retry_after or 0
    if wait is None or asked > settings.STRATA_LLM_MAX_WAIT_SECONDS:
        raise error
    return max(wait, asked)


def read_retry_after(headers: "httpx.Headers") -> float | None:
    """Seconds, from either form that RFC 9110 (10.2.3) allows."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
