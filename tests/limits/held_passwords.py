"""A password hasher that waits while there is a file ``hold-passwords`` in the data folder."""

import time
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from access.passwords import OneAtATimePasswordHasher

HOLD = "hold-passwords"


class _WaitingHasher(PBKDF2PasswordHasher):
    iterations = 1

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        while (Path(settings.STRATA_DATA_DIR) / HOLD).exists():
            time.sleep(0.02)
        return super().encode(password, salt, iterations)


class HeldPasswordHasher(OneAtATimePasswordHasher, _WaitingHasher):
    """The service's hasher, which waits while the file is there."""
