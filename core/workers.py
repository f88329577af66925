"""The base of workers: one thread of a process works at a time, and it can be stopped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Worker:
    """Work for one thread of the process at a time: a second would only fight the first for the
    same cores. Whoever sets ``stop_requested`` ends it at the next step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.stop_requested = threading.Event()

    @contextmanager
    def _try_acquire(self) -> Iterator[bool]:
        """Whether the work is ours until the block ends; otherwise another thread is at it."""
        is_ours = self._lock.acquire(blocking=False)
        try:
            yield is_ours
        finally:
            if is_ours:
                self._lock.release()

    def wait_idle(self, timeout: float) -> bool:
        """Whether the step under way was finished, or given back, within ``timeout`` seconds."""
        if not self._lock.acquire(timeout=timeout):
            return False
        self._lock.release()
        return True
