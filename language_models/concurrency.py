"""Deadline, concurrency limit and retry delays of language model calls."""

import asyncio
import os
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager

from django.conf import settings

from language_models.exceptions import LanguageModelBusy, LanguageModelUnavailable

BUSY = "The language model is busy with other calls."


class Deadline:
    """A caller's remaining time; unlimited if no seconds are given."""

    def __init__(self, seconds: float | None) -> None:
        self._ends_at = None if seconds is None else time.monotonic() + seconds

    def remaining_seconds(self) -> float | None:
        """Seconds left, at least 0.1, so that the first call is always made."""
        return None if self._ends_at is None else max(0.1, self._ends_at - time.monotonic())

    def expires_within(self, seconds: float) -> bool:
        return self._ends_at is not None and time.monotonic() + seconds >= self._ends_at


class FairSemaphore:
    """A semaphore for threads and event loops. Calls for which someone waits go first; apart from
    that, first come, first served."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0
        self._waiting_first: deque[Future[None]] = deque()
        self._waiting: deque[Future[None]] = deque()

    @contextmanager
    def hold_slot(self, *, goes_first: bool, max_seconds: float | None = None) -> Iterator[None]:
        """Wait for a slot and hold it until the block ends. Raises ``LanguageModelBusy``: no slot
        became free within ``max_seconds``."""
        waiter = self._add_waiter(goes_first)
        try:
            try:
                waiter.result(max_seconds)
            except TimeoutError:
                raise LanguageModelBusy(BUSY) from None
            yield
        finally:
            self._release(waiter)

    @asynccontextmanager
    async def ahold_slot(self, *, max_seconds: float | None = None) -> AsyncIterator[None]:
        """As ``hold_slot`` of a call for which someone waits."""
        waiter = self._add_waiter(goes_first=True)
        try:
            try:
                # In Python 3.11, asyncio.wait_for loses a cancellation that comes with the slot.
                async with asyncio.timeout(max_seconds):
                    await asyncio.wrap_future(waiter)
            except TimeoutError:
                raise LanguageModelBusy(BUSY) from None
            yield
        finally:
            self._release(waiter)

    def _add_waiter(self, goes_first: bool) -> "Future[None]":
        waiter: Future[None] = Future()
        with self._lock:
            (self._waiting_first if goes_first else self._waiting).append(waiter)
            self._admit_waiters()
        return waiter

    def _release(self, waiter: "Future[None]") -> None:
        if waiter.cancel():  # interrupted while still waiting
            return
        with self._lock:
            self._taken -= 1
            self._admit_waiters()

    def _admit_waiters(self) -> None:
        limit = max(1, settings.STRATA_LLM_CONCURRENCY)
        while self._taken < limit and (waiting := self._waiting_first or self._waiting):
            waiter = waiting.popleft()
            if waiter.set_running_or_notify_cancel():
                self._taken += 1
                waiter.set_result(None)


call_semaphore = FairSemaphore()  # shared by all models and all kinds of call
# A forked child never sees its parent's calls end.
os.register_at_fork(after_in_child=call_semaphore.reset)


def make_retry_delays() -> Iterator[float]:
    """Yield the seconds to wait before each retry: exponential back-off with jitter."""
    for retry in range(settings.STRATA_LLM_RETRIES):
        longest = settings.STRATA_LLM_BACKOFF_SECONDS * 2**retry
        spread = random.uniform(0.5, 1)  # noqa: S311 - not used for security
        yield spread * min(longest, settings.STRATA_LLM_MAX_WAIT_SECONDS)


def next_retry_delay(
    error: LanguageModelUnavailable, delays: Iterator[float], deadline: Deadline
) -> float:
    """Return the seconds until the next retry; raise the error if the deadline allows none."""
    delay = next(delays, None)
    requested_seconds = error.retry_after or 0
    if delay is None or requested_seconds > settings.STRATA_LLM_MAX_WAIT_SECONDS:
        raise error
    delay = max(delay, requested_seconds)
    if deadline.expires_within(delay):
        raise error
    return delay
