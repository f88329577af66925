"""Settings of the test suite on PostgreSQL and Qdrant; a database of its own each time, dropped
at the end, and the collections the tests make, dropped after each."""

import os
import secrets
from urllib.parse import unquote, urlsplit

from config.settings.test import *  # noqa: F403

_server = urlsplit(
    os.environ.get("STRATA_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
)

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(_server.path.lstrip("/")),
        "USER": unquote(_server.username or ""),
        "PASSWORD": unquote(_server.password or ""),
        "HOST": _server.hostname or "",
        "PORT": str(_server.port or ""),
        "CONN_HEALTH_CHECKS": True,
        # Clones that run tests at the same time must not share a database.
        "TEST": {"NAME": f"test_strata_{secrets.token_hex(4)}"},
    }
}

STRATA_VECTOR_STORE = "qdrant"
QDRANT_URL = ""  # the environment's, or a stand-in's: ``store`` in ``tests/conftest.py``
QDRANT_API_KEY = os.environ.get("QDRANT_API_KEY", "")
QDRANT_TIMEOUT_SECONDS = 30
