"""Settings of the test suite on PostgreSQL and Qdrant. Each run has its own database, dropped at
the end; collections are dropped after each test."""

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
        # Test runs at the same time must not share a database.
        "TEST": {"NAME": f"test_strata_{secrets.token_hex(4)}"},
    }
}

STRATA_VECTOR_STORE = "qdrant"
QDRANT_URL = ""  # set by the fixture ``store`` in ``tests/conftest.py``
QDRANT_API_KEY = os.environ.get("QDRANT_API_KEY", "")
QDRANT_TIMEOUT_SECONDS = 30
