"""What one key, user or stranger may use of the server, so that enough is left for the others.

The counters are in Django's cache: in Redis, for all processes of the production form, and in the
memory of the embedded form's one process. A limit of 0 is off. A ``holder`` is a key, a user or the
address of a stranger, as ``access.request_throttle.get_holder`` names them.
"""

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet

from access.exceptions import (
    LimitReached,
    ModelUseSpent,
    TooManyJobs,
    TooManyRequests,
    TooManyStreamsOfKey,
    TooManyWrongKeys,
)
from core.text import hash_text

MINUTE: Final = 60  # seconds
DAY: Final = 86_400
STREAM_SECONDS: Final = 600  # after that, a stream that was not ended properly no longer counts
JOB_SECONDS: Final = 600
BATCH_SECONDS: Final = 120  # between two groups of its lines
MAX_METADATA_FETCHES: Final = 10  # of one user in a minute; allowing an application takes two
THIS_SERVER: Final = "this server"  # the key with which commands ask a running server
COMMANDS: Final = "manage.py"  # without a running server
UNLIMITED: Final = frozenset({"", THIS_SERVER, COMMANDS})


# --- Requests --------------------------------------------------------------------------------


class _Permits:
    """Requests that this process lets through before it asks the shared counter again: Redis takes
    0.2 ms. Once a holder has used up its limit, the counter is not asked until the next minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._left: dict[str, int] = {}  # -1: the limit is used up

    def take(self, holder: str, limit: int) -> bool:
        """Count a request of the holder; return whether it is within the limit."""
        remaining = self._change(holder, -1)
        if remaining:
            return remaining > 0
        block = max(1, limit // 100)
        excess = _count("requests", holder, MINUTE, block) - limit
        is_within = excess < block
        self._change(holder, block - max(0, excess) - 1 if is_within else None)
        return is_within

    def is_used_up(self, holder: str) -> bool:
        return self._change(holder, 0) < 0

    def _change(self, holder: str, amount: int | None) -> int:
        """Add ``amount`` to the remaining permits of the holder, or with None store that the limit
        is used up; return the permits that remained before. Nothing is subtracted from 0."""
        minute = int(time.time() // MINUTE)
        with self._lock:
            if minute != self._minute:
                self._minute, self._left = minute, {}
            remaining = self._left.get(holder, 0)
            if amount is None:
                self._left[holder] = -1
            elif remaining > 0 or (remaining == 0 and amount > 0):
                self._left[holder] = remaining + amount
            return remaining


_permits = _Permits()


def count_request(holder: str) -> None:
    """Count a request of a holder, and refuse it above the limit.

    Raises:
        TooManyRequests: the holder has sent more than ``STRATA_KEY_REQUESTS_PER_MINUTE``.
    """
    limit = settings.STRATA_KEY_REQUESTS_PER_MINUTE
    if _is_limited(holder, limit) and not _permits.take(holder, limit):
        raise _wait_for_next(
            MINUTE,
            TooManyRequests(
                f"The key has sent more than {limit:,} requests in this minute.",
                fix="Try again after the number of seconds in Retry-After.",
            ),
        )


def has_sent_too_many(holder: str) -> bool:
    """Whether requests of the holder are being refused."""
    return _is_limited(holder, settings.STRATA_KEY_REQUESTS_PER_MINUTE) and _permits.is_used_up(
        holder
    )


def count_metadata_fetch(holder: str) -> None:
    """Count that the holder has the metadata of an application fetched, which takes time and asks a
    host of the holder's choice. It is limited in every form of the service.

    Raises:
        TooManyRequests: for the next minute.
    """
    if _count("metadata", holder, MINUTE) > MAX_METADATA_FETCHES:
        raise _wait_for_next(
            MINUTE,
            TooManyRequests(
                f"You have opened the page for an application {MAX_METADATA_FETCHES} times in this "
                "minute.",
                fix="Try again in a minute.",
            ),
        )


def count_wrong_key(address: str) -> None:
    """Count a wrong key that an address has sent.

    Raises:
        TooManyWrongKeys: as ``require_few_wrong_keys``.
    """
    limit = settings.STRATA_WRONG_KEYS_PER_MINUTE
    if limit and not _permits.take(_name_wrong_keys(address), limit):
        require_few_wrong_keys(address)


def require_few_wrong_keys(address: str) -> None:
    """Refuse an address that has sent too many wrong keys.

    Raises:
        TooManyWrongKeys: the address has sent more than ``STRATA_WRONG_KEYS_PER_MINUTE``.
    """
    if _permits.is_used_up(_name_wrong_keys(address)):
        raise _wait_for_next(
            MINUTE,
            TooManyWrongKeys(
                f"This address has sent more than {settings.STRATA_WRONG_KEYS_PER_MINUTE} wrong "
                "keys in this minute, so keys that a person has chosen are accepted only if it has "
                "used them before.",
                fix="Correct the key, and try again after the number of seconds in Retry-After.",
            ),
        )


def _name_wrong_keys(address: str) -> str:
    return f"wrong keys of {address}"


# --- Streams and jobs ------------------------------------------------------------------------


class StreamSlot:
    """Counts a stream until ``free``, or until nothing refers to it any more: a client may leave
    while a thread takes its slot."""

    def __init__(self, name: str) -> None:
        self.free = weakref.finalize(self, free_slot, name)
        self.free.atexit = False


def take_stream(holder: str) -> StreamSlot:
    """Take one of the answers that a holder may read at once.

    Raises:
        TooManyStreamsOfKey: the holder has ``STRATA_KEY_STREAMS`` already.
    """
    limit = settings.STRATA_KEY_STREAMS
    refusal = TooManyStreamsOfKey(
        f"The key is already reading {limit:,} answers at once, which is its limit.",
        fix="Read them to their end, or close them, before the next question.",
    )
    return StreamSlot(_take_slot("stream", holder, limit, STREAM_SECONDS, refusal))


@contextmanager
def one_at_a_time(holder: str, job: str) -> Iterator[None]:
    """Let the holder start one such job at a time, because it takes a thread of the web server.

    Raises:
        TooManyJobs: another one of the holder is running.
    """
    refusal = TooManyJobs(
        f"A {job} that this key started is still running.",
        fix="Wait until it ends, or use the command of strata.",
    )
    limit = min(1, settings.STRATA_KEY_WAITING_JOBS)
    slot = _take_slot(job, holder, limit, JOB_SECONDS, refusal)
    try:
        yield
    finally:
        free_slot(slot)


def take_batch(holder: str) -> str:
    """Count a batch of the holder; return what ``keep_batch`` and ``free_slot`` take.

    Raises:
        TooManyJobs: another batch of the holder is being stored.
    """
    refusal = TooManyJobs(
        "Another batch of this key is being stored.",
        fix="Send it again when the other one has ended, or send all lines in one batch.",
    )
    return _take_slot("batch", holder, 1, BATCH_SECONDS, refusal)


def keep_batch(slot: str) -> None:
    """Keep the slot for another ``BATCH_SECONDS``."""
    if slot:
        cache.touch(slot, BATCH_SECONDS)


def free_slot(slot: str) -> None:
    if slot:
        cache.delete(slot)


def require_room(holder: str, waiting: QuerySet[Any], limit: int, what: str) -> None:
    """Check that a holder may add one more job.

    Raises:
        TooManyJobs: ``limit`` rows of the holder are waiting; ``what`` is their name in the text.
    """
    if _is_limited(holder, limit) and waiting.count() >= limit:
        raise TooManyJobs(
            f"This key already has {limit:,} waiting {what}, which is its limit.",
            fix="Try again when some of them are done.",
        )


# --- Language model --------------------------------------------------------------------------


def require_model_use(holder: str) -> None:
    """Check that a holder may use the language model today.

    Raises:
        ModelUseSpent: the holder has used the language model as much as it may today.
    """
    for name, limit in _list_model_limits().items():
        if _is_limited(holder, limit) and _read_count(f"model-{name}", holder, DAY) >= limit:
            raise _wait_for_next(
                DAY,
                ModelUseSpent(
                    f"The key has used its {limit:,} {name} of the language model for today.",
                    fix="Ask again after midnight UTC, or search, which needs no language model.",
                ),
            )


def add_model_use(holder: str, *, calls: int, tokens: int) -> None:
    """Count what the holder has used of the language model today."""
    amounts = {"calls": calls, "tokens": tokens}
    for name, limit in _list_model_limits().items():
        if amounts[name] and _is_limited(holder, limit):
            _count(f"model-{name}", holder, DAY, amounts[name])


def _list_model_limits() -> dict[str, int]:
    return {
        "calls": settings.STRATA_KEY_MODEL_CALLS_PER_DAY,
        "tokens": settings.STRATA_KEY_MODEL_TOKENS_PER_DAY,
    }


# --- Counters --------------------------------------------------------------------------------


def _is_limited(holder: str, limit: int) -> bool:
    return limit > 0 and holder not in UNLIMITED


def _name_counter(name: str, holder: str, seconds: int) -> str:
    """The name of a counter that starts at 0 in each period of so many seconds."""
    return f"{name}-{hash_text(holder)[:32]}-{int(time.time() // seconds)}"


def _count(name: str, holder: str, seconds: int, amount: int = 1) -> int:
    """Add to a counter; return its value."""
    counter = _name_counter(name, holder, seconds)
    try:
        return cache.incr(counter, amount)
    except ValueError:  # the first of the period
        if cache.add(counter, amount, seconds):
            return amount
        return cache.incr(counter, amount)  # another request was faster


def _read_count(name: str, holder: str, seconds: int) -> int:
    return int(cache.get(_name_counter(name, holder, seconds), 0))


def _take_slot(name: str, holder: str, limit: int, seconds: int, refusal: LimitReached) -> str:
    """Take one of the holder's slots; raise ``refusal`` if all are taken. Empty without a limit. A
    process that is killed frees none, so each ends after ``seconds``."""
    if not _is_limited(holder, limit):
        return ""
    for number in range(limit):
        slot = f"{name}-{hash_text(holder)[:32]}-{number}"
        if cache.add(slot, True, seconds):
            return slot
    raise refusal


def _wait_for_next(seconds: int, error: LimitReached) -> LimitReached:
    error.retry_after = seconds - time.time() % seconds
    return error
