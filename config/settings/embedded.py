"""One process, nothing to install: SQLite, the embedded vector engine, messages in memory."""

from functools import partial
from typing import Any

from django.utils.functional import SimpleLazyObject

from config.environment import read_int
from config.folders import load_or_create_secret_key
from config.settings.base import *  # noqa: F403
from config.settings.base import (
    ALLOWED_HOSTS,
    STRATA_DATA_DIR,
    STRATA_ERASE_SECONDS,
    STRATA_LOOPBACK_HOSTS,
    STRATA_PRIVATE_HOSTS,
)

SECRET_KEY: Any = SimpleLazyObject(partial(load_or_create_secret_key, STRATA_DATA_DIR))
DEBUG = False
ALLOWED_HOSTS = [*ALLOWED_HOSTS, *STRATA_LOOPBACK_HOSTS]
STRATA_PRIVATE_HOSTS = [*STRATA_PRIVATE_HOSTS, *STRATA_LOOPBACK_HOSTS]  # such as a local model

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": STRATA_DATA_DIR / "strata.sqlite3",
        "CONN_MAX_AGE": None,  # threads keep theirs: opening one takes as long as a search
        "OPTIONS": {
            "timeout": 30,  # seconds a writer waits for another
            # A deferred transaction that starts to write fails at once if another one has written;
            # an immediate one waits for the lock.
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                "PRAGMA journal_mode=WAL;"
                "PRAGMA synchronous=FULL;"  # acknowledged writes survive a power cut
                "PRAGMA cache_size=-32000;"  # KiB
                "PRAGMA mmap_size=268435456;"
                "PRAGMA foreign_keys=ON;"
                "PRAGMA secure_delete=ON;"  # overwrites deleted rows
            ),
        },
    }
}

STRATA_EDIT_SPECS = bool(read_int("STRATA_EDIT_SPECS", 1))
STRATA_VECTOR_STORE = "embedded"
STRATA_ERASE_SECONDS = read_int("STRATA_ERASE_SECONDS", STRATA_ERASE_SECONDS)

CELERY_BROKER_URL = "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.02}  # seconds; the default is 1
CELERY_DB_REUSE_MAX = 2**31  # tasks: the workers' threads keep their connections, too
CELERY_WORKER_PREFETCH_MULTIPLIER = 64  # otherwise each short task waits for its own poll
