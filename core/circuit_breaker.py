"""Makes calls fail at once for a while after a failure, instead of waiting for a service again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.exceptions import StrataError

PAUSE_SECONDS = 30.0  # after a failure; then the next call tries again


class CircuitBreaker:
    """Guards the calls of one service for which someone waits. Several steps of a question, and the
    next questions, would otherwise each wait until their patience is spent. Thread-safe.

    Source: Nygard, "Release It!", 2007, "Circuit Breaker".
    """

    def __init__(
        self, outage: type[StrataError], *, except_for: tuple[type[StrataError], ...] = ()
    ) -> None:
        """``outage``: the error that opens the circuit, unless it is one of ``except_for``."""
        self._outage = outage
        self._except_for = except_for
        self._open_until = 0.0
        self._detail = ""

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Refuse the call in the block while there is an outage, and note whether it fails.

        Raises:
            StrataError: ``outage``, without a call, if the last one failed within
                ``PAUSE_SECONDS``.
        """
        if time.monotonic() < self._open_until:
            raise self._outage(self._detail)
        try:
            yield
        except self._except_for:
            raise
        except self._outage as error:
            self._detail, self._open_until = error.detail, time.monotonic() + PAUSE_SECONDS
            raise
        self._open_until = 0.0
