"""Load models in their own threads, so that no caller waits long for one that cannot be loaded."""

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from django.conf import settings
from django.dispatch import Signal

from core.exceptions import StrataError
from indexing.exceptions import ModelLoading, ModelUnavailable

logger = logging.getLogger(__name__)

Model = TypeVar("Model")

# Sent by the loading thread after the first attempt, and once the model is loaded: work that waits
# for it can continue or report the problem.
model_load_attempted = Signal()

# Between two attempts; doubled after each failure. A connection that returns soon is used within
# half a minute; without one, an attempt may take minutes but is made only every ten.
FIRST_PAUSE_SECONDS = 30.0
MAX_PAUSE_SECONDS = 600.0

# For a model whose files are installed: loading takes seconds, and the first conversion ten more.
INSTALLED_WAIT_SECONDS = 60.0

# Callers that may wait at the same time for models: half the threads of the web server, so that the
# others can serve requests for loaded models.
_waiting_slots = threading.BoundedSemaphore(4)

_wait_seconds: ContextVar[float | None] = ContextVar("_wait_seconds", default=None)


@contextmanager
def waiting_for_models(seconds: float = threading.TIMEOUT_MAX) -> Iterator[None]:
    """Wait this long for models in the block; for commands, which delay no other caller.

    It has no effect on threads that are started in the block.
    """
    token = _wait_seconds.set(min(seconds, threading.TIMEOUT_MAX))
    try:
        yield
    finally:
        _wait_seconds.reset(token)


class ModelLoader(Generic[Model]):
    """Loads one model in its own thread, which retries until it succeeds.

    Create one for each model and share it. Loading starts with the first ``start`` or ``get``.
    """

    def __init__(self, name: str, load: Callable[[], Model], *, is_installed: bool = False) -> None:
        self._name = name
        self._load = load
        self._is_installed = is_installed  # nothing is fetched, so it is fast
        self._start_lock = threading.Lock()  # never held while loading
        self._is_started = False
        self._first_attempt_ended = threading.Event()
        self._loaded: list[Model] = []  # one element once it is loaded
        self._error: StrataError | None = None  # of the last attempt
        self._next_attempt_at = 0.0  # on the monotonic clock

    def start(self) -> None:
        """Start loading, unless it was started before."""
        with self._start_lock:
            if not self._is_started:
                self._is_started = True
                name = f"load {self._name}"
                threading.Thread(target=self._run, name=name, daemon=True).start()

    def get(self) -> Model:
        """Return the model. Waits at most ``STRATA_MODEL_WAIT_SECONDS`` for the first attempt,
        longer if the model is installed.

        Raises:
            ModelLoading: the first attempt has not ended yet.
            StrataError: why the last attempt failed; ``retry_after`` is when the next one begins.
        """
        if not self._loaded:
            self.start()
            self._wait()
        if not self._loaded:
            raise self._make_error()
        return self._loaded[0]

    def _wait(self) -> None:
        seconds = _wait_seconds.get()
        if seconds is None and self._is_installed:
            seconds = INSTALLED_WAIT_SECONDS
        if seconds is not None:
            self._first_attempt_ended.wait(seconds)
        elif not self._first_attempt_ended.is_set() and _waiting_slots.acquire(blocking=False):
            try:
                self._first_attempt_ended.wait(settings.STRATA_MODEL_WAIT_SECONDS)
            finally:
                _waiting_slots.release()

    def _make_error(self) -> StrataError:
        if self._error is None:
            return ModelLoading(
                f"{self._name} {ModelLoading.STATE}",
                fix="Try again shortly. If the model cannot be loaded, the log says why.",
            )
        # A copy, because an exception that is raised repeatedly keeps the frames of every raise.
        error = copy.copy(self._error)
        error.retry_after = max(self._next_attempt_at - time.monotonic(), ModelLoading.retry_after)
        return error

    def _run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        is_loaded = self._try_to_load(pause)
        model_load_attempted.send_robust(self)
        while not is_loaded:
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            is_loaded = self._try_to_load(pause)
            if is_loaded:
                model_load_attempted.send_robust(self)

    def _try_to_load(self, pause: float) -> bool:
        try:
            self._loaded.append(self._load())
        except Exception as error:
            is_expected = isinstance(error, StrataError)
            if isinstance(error, StrataError):
                self._error = copy.copy(error)
            else:
                self._error = ModelUnavailable(f"{self._name} could not be loaded: {error!r}")
            self._next_attempt_at = time.monotonic() + pause
            logger.warning(
                "%s was not loaded; the next attempt is in %.0f s: %s %s",
                self._name, pause, self._error, self._error.fix or "",
                exc_info=None if is_expected else error,
            )  # fmt: skip
            return False
        finally:
            self._first_attempt_ended.set()
        return True
