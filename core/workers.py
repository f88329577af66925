"""The base of workers: one thread of a process works at a time, and it can be stopped."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from django.conf import settings

Key = TypeVar("Key")

# Once nothing is left for a key, it rests as long as its work took, within these bounds. What comes
# meanwhile shares a batch, so the statements and flushes of batches do not grow with the number of
# documents that come one by one.
MIN_REST_SECONDS = 0.1
MAX_REST_SECONDS = 1.0


class Worker:
    """Work that one thread of the process does at a time: a second would compete for the same
    cores. Set ``stop_requested`` to end it at the next step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.stop_requested = threading.Event()

    @contextmanager
    def _try_acquire(self) -> Iterator[bool]:
        """Yield True if this thread has the lock until the block ends, False if another thread
        has it."""
        has_lock = self._lock.acquire(blocking=False)
        try:
            yield has_lock
        finally:
            if has_lock:
                self._lock.release()

    def wait_idle(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for the current step to end; return whether it did."""
        if not self._lock.acquire(timeout=timeout):
            return False
        self._lock.release()
        return True


class ParallelWorker(Worker, Generic[Key]):
    """Works on queued keys in at most ``count_threads()`` threads of the process, so that others
    are left for other work. Groups of keys, such as those of an index, take turns. A stop request
    drops the keys: rows show what is left."""

    def __init__(self, work: Callable[[Key], None], count_threads: Callable[[], int]) -> None:
        super().__init__()
        self._work = work
        self._count_threads = count_threads
        self._queue: dict[str, dict[Key, None]] = {}  # group -> its keys; both in order
        self._thread_count = 0
        self._has_ended = threading.Condition(self._lock)

    def run(self, key: Key, group: str = "") -> None:
        """Work on this key and on those that are queued meanwhile. If enough threads work, queue it
        and return."""
        with self._lock:
            self._queue.setdefault(group, {}).setdefault(key)
            if self._thread_count >= max(1, self._count_threads()):
                return
            self._thread_count += 1
        while (next_key := self._take_next()) is not None:
            try:
                self._work(next_key)
            except BaseException:
                with self._lock:
                    self._end_thread()
                raise

    def wait_idle(self, timeout: float) -> bool:
        with self._lock:
            return self._has_ended.wait_for(lambda: not self._thread_count, timeout)

    def _take_next(self) -> Key | None:
        """The next key; None ends the thread, in one step, so that no key is left without one."""
        with self._lock:
            if self._queue and not self.stop_requested.is_set():
                group = next(iter(self._queue))
                keys = self._queue.pop(group)
                key = next(iter(keys))
                del keys[key]
                if keys:
                    self._queue[group] = keys
                return key
            if self.stop_requested.is_set():
                self._queue.clear()
            self._end_thread()
            return None

    def _end_thread(self) -> None:
        self._thread_count -= 1
        self._has_ended.notify_all()


class BatchWorker(Worker, ABC, Generic[Key]):
    """Works on the queued keys in turns, one batch at a time.

    If another thread is working, ``run`` queues its key and returns. A stop request ends the work
    between two batches or parts of one; so does ``STRATA_WORKER_RUN_SECONDS``, so that other
    tasks can run.
    """

    def __init__(self) -> None:
        super().__init__()
        self._queue: dict[Key, None] = {}  # in the order of their turns
        self._queue_lock = threading.Lock()
        self._began_at: dict[Key, float] = {}  # of keys for which work is left
        self._rests_until: dict[Key, float] = {}

    def run(self, key: Key) -> list[Key]:
        """Work on this key; return the unfinished keys, which must be enqueued again."""
        self._enqueue(key)
        unfinished: list[Key] = []
        # Checked again after releasing the lock: another thread may have queued a key meanwhile.
        while self._queue and not self.stop_requested.is_set():
            with self._try_acquire() as has_lock:
                if not has_lock:
                    break
                unfinished += self._run_batches()
        return unfinished

    @abstractmethod
    def run_batch(self, key: Key) -> bool:
        """Work on one batch; return whether work may be left for this key."""

    def choose_next(self, keys: list[Key]) -> Key:
        """Choose the next key; ``keys`` are in the order in which they were queued."""
        return keys[0]

    def is_awaited(self, key: Key) -> bool:
        """Whether another key has the next turn, while a batch of ``key`` is worked on."""
        others = [each for each in self._list_queued() if each != key]
        return bool(others) and self.choose_next([*others, key]) != key

    def may_pause(self) -> bool:
        """Whether another process could continue the work at no extra cost."""
        return True

    def _run_batches(self) -> list[Key]:
        """Run batches until no key is queued or time is up; return the keys still queued."""
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        while not self.stop_requested.is_set():
            key = self._take_next()
            if key is None:
                break
            began_at = self._began_at.setdefault(key, time.monotonic())
            if self.run_batch(key):
                self._enqueue_last(key)
            else:
                del self._began_at[key]
                now = time.monotonic()
                rest = min(max(now - began_at, MIN_REST_SECONDS), MAX_REST_SECONDS)
                self._rests_until[key] = now + rest
            if time.monotonic() >= deadline and self.may_pause():
                with self._queue_lock:
                    unfinished, self._queue = list(self._queue), {}
                return unfinished
        return []

    def _enqueue(self, key: Key) -> None:
        with self._queue_lock:
            self._queue.setdefault(key)

    def _enqueue_last(self, key: Key) -> None:
        """Also if it was queued during its batch, before others that have waited longer."""
        with self._queue_lock:
            self._queue.pop(key, None)
            self._queue[key] = None

    def _take_next(self) -> Key | None:
        """The next key, once one of those queued has rested; None if there is none, or after a stop
        request."""
        while keys := self._list_queued():
            now = time.monotonic()
            if rested := [key for key in keys if self._rests_until.get(key, now) <= now]:
                key = self.choose_next(rested)
                with self._queue_lock:
                    self._queue.pop(key, None)
                return key
            if self.stop_requested.wait(MIN_REST_SECONDS):
                break
        return None

    def _list_queued(self) -> list[Key]:
        with self._queue_lock:
            return list(self._queue)
