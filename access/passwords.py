"""Check few passwords at a time: each check takes a core for half a second, by design."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from access.exceptions import TooManyLogins

MAX_WAITING: Final = 3  # each holds a thread of the web server, which has STRATA_WEB_THREADS

_admitted = threading.BoundedSemaphore(1 + MAX_WAITING)
_turn = threading.BoundedSemaphore()


class OneAtATimePasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher; only one thread of a process computes a hash at a time.

    Checking a password and storing one both encode it; Django also does so if the user is unknown,
    so that the response time does not show whether the user exists.
    """

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password when it is this thread's turn.

        Raises:
            TooManyLogins: enough threads are waiting for their turn.
        """
        with _taking_turns():
            return super().encode(password, salt, iterations)


@contextmanager
def _taking_turns() -> Iterator[None]:
    if not _admitted.acquire(blocking=False):
        raise TooManyLogins(
            "Too many people are signing in at this moment.", fix="Try again in a few seconds."
        )
    try:
        with _turn:
            yield
    finally:
        _admitted.release()
