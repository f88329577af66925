"""Many machines: PostgreSQL, Redis and a Qdrant server, everything from the environment."""

import os
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.settings.base import *  # noqa: F403


def _required(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ImproperlyConfigured(f"Set {name} in the environment.")
    return value


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql://")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 600,  # seconds
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"application_name": "strata"},
    }


SECRET_KEY = _required("SECRET_KEY")
DEBUG = False
ALLOWED_HOSTS = _required("ALLOWED_HOSTS").split(",")
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS if host != "*"]
DATABASES = {"default": _database(_required("DATABASE_URL"))}

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = True
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

STRATA_VECTOR_STORE = "qdrant"
QDRANT_URL = _required("QDRANT_URL")
QDRANT_API_KEY = os.environ.get("QDRANT_API_KEY", "")

CELERY_BROKER_URL = _required("REDIS_URL")
