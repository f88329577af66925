"""The threads in which the web server calls Django, and whether all of them are taken."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from django.conf import settings

TAKEN_SECONDS: Final = 10.0  # longer than all but the slowest requests


class WebThreads(ThreadPoolExecutor):
    """Threads for requests in general."""

    def __init__(self, count: int, name: str) -> None:
        super().__init__(count, name)
        self._count = count
        self._lock = threading.Lock()
        self._taken = 0
        self._taken_at = 0.0  # when a thread began with its request last

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        return super().submit(self._run, function, *args, **named)

    def are_stuck(self) -> bool:
        """Whether all are taken, and none became free in ``TAKEN_SECONDS``, so that other requests
        wait. Short requests, however many, do not count: a thread that takes the next one has
        become free."""
        with self._lock:
            is_full = self._taken >= self._count
            return is_full and time.monotonic() - self._taken_at > TAKEN_SECONDS

    def _run(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        with self._lock:
            self._taken += 1
            self._taken_at = time.monotonic()
        try:
            return function(*args, **named)
        finally:
            with self._lock:
                self._taken -= 1


web_threads = WebThreads(settings.STRATA_WEB_THREADS, "web")
