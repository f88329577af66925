"""Many machines: PostgreSQL, Redis and a Qdrant server, everything from the environment."""

import os
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment import LOG_LEVELS, read_choice, read_folder, read_int, require_url
from config.settings.base import *  # noqa: F403
from config.settings.base import ALLOWED_HOSTS, LOGGING, STATIC_ROOT, STORAGES

MIN_SECRET_KEY_CHARS = 50  # Django's own recommendation


def _require_env(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ImproperlyConfigured(f"Set {name} in the environment.")
    return value


def _read_flag(name: str) -> bool:
    value = os.environ.get(name, "").lower()
    if value not in {"", "0", "1", "false", "true"}:
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or to 0.")
    return value in {"1", "true"}


# PostgreSQL ends the session of a process that sends no statement for this long within a
# transaction. A process that is frozen or cut off would otherwise keep its row locks, and others
# would wait for them. Adding findings asks Qdrant within its transaction, so this must be longer
# than QDRANT_TIMEOUT_SECONDS. 0: no limit.
STRATA_IDLE_TRANSACTION_SECONDS = read_int("STRATA_IDLE_TRANSACTION_SECONDS", 60)


def _parse_database_url(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql://")
    given = dict(parse_qsl(parts.query))  # libpq parameters such as sslmode
    idle_limit = f"-c idle_in_transaction_session_timeout={STRATA_IDLE_TRANSACTION_SECONDS}s"
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        # Each thread keeps one connection, so there are never more connections than threads and
        # child processes; a pool would not lower that number.
        "CONN_MAX_AGE": 600,  # seconds
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": "strata",
            "connect_timeout": 5,  # seconds
            **given,
            "options": f"{idle_limit} {given.get('options', '')}",
        },
    }


SECRET_KEY = _require_env("SECRET_KEY")
if len(SECRET_KEY) < MIN_SECRET_KEY_CHARS:
    raise ImproperlyConfigured(
        f"SECRET_KEY has fewer than {MIN_SECRET_KEY_CHARS} characters, so sessions could be "
        "forged. `openssl rand -hex 32` makes a good one."
    )
# Sessions signed with these stay valid after SECRET_KEY has changed.
SECRET_KEY_FALLBACKS = [key for key in os.environ.get("SECRET_KEY_FALLBACKS", "").split(",") if key]
DEBUG = False
_require_env("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS if host != "*"]
DATABASES = {"default": _parse_database_url(_require_env("DATABASE_URL"))}

# --- Behind a proxy --------------------------------------------------------------------------

# The proxy terminates TLS, sets this header and removes it from clients' requests.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Only for trials on one machine without a certificate: keys and sessions are sent unencrypted.
_has_tls = not _read_flag("STRATA_PLAIN_HTTP")
SECURE_SSL_REDIRECT = _has_tls
STRATA_CLIENT_ADDRESS_HEADER = "HTTP_X_FORWARDED_FOR"
STRATA_MAX_CONNECTIONS_PER_ADDRESS = read_int("STRATA_MAX_CONNECTIONS_PER_ADDRESS", 0)
# Health checks and Prometheus ask each server and not the proxy.
SECURE_REDIRECT_EXEMPT = [r"(^|/)health/(live|ready)$", r"(^|/)metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _has_tls else 0
# Both reach beyond this service, and a preload list is hard to leave.
SECURE_HSTS_INCLUDE_SUBDOMAINS = _read_flag("STRATA_HSTS_SUBDOMAINS")
SECURE_HSTS_PRELOAD = _read_flag("STRATA_HSTS_PRELOAD")
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # ask for these two
SESSION_COOKIE_SECURE = _has_tls
CSRF_COOKIE_SECURE = _has_tls

# --- Static files ----------------------------------------------------------------------------

# Collected files are served compressed; others are served from their packages as they are.
STATIC_ROOT = read_folder("STRATA_STATIC_DIR", STATIC_ROOT)
WHITENOISE_USE_FINDERS = not (STATIC_ROOT / "style.css").exists()  # it would prefer the packages'
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "console.files.CompressedPageFilesStorage"}}

# --- Cache -----------------------------------------------------------------------------------

# Answers under way, so that another process can continue one after a connection broke.
CACHES = {
    "default": {
        "BACKEND": "config.caches.FaultTolerantRedisCache",
        "LOCATION": _require_env("REDIS_URL"),
        "KEY_PREFIX": "strata",
        "OPTIONS": {
            "serializer": "config.caches.JSONSerializer",
            "socket_connect_timeout": 1,  # seconds
            "socket_timeout": 1,  # seconds
        },
    }
}

# --- Limits of one key -----------------------------------------------------------------------

# More than people and most programs need, and a bound on what one key takes from the others.
STRATA_KEY_REQUESTS_PER_MINUTE = read_int("STRATA_KEY_REQUESTS_PER_MINUTE", 6_000)
STRATA_KEY_STREAMS = read_int("STRATA_KEY_STREAMS", 20)
STRATA_KEY_WAITING_JOBS = read_int("STRATA_KEY_WAITING_JOBS", 20)
STRATA_KEY_WAITING_UPLOADS = read_int("STRATA_KEY_WAITING_UPLOADS", 10_000)
STRATA_KEY_MODEL_CALLS_PER_DAY = read_int("STRATA_KEY_MODEL_CALLS_PER_DAY", 10_000)
STRATA_KEY_MODEL_TOKENS_PER_DAY = read_int("STRATA_KEY_MODEL_TOKENS_PER_DAY", 20_000_000)

# --- Vectors ---------------------------------------------------------------------------------

STRATA_VECTOR_STORE = "qdrant"
QDRANT_URL = require_url("QDRANT_URL", _require_env("QDRANT_URL"))
QDRANT_API_KEY = os.environ.get("QDRANT_API_KEY", "")
QDRANT_TIMEOUT_SECONDS = read_int("QDRANT_TIMEOUT_SECONDS", 30)  # of one request

# --- Work ------------------------------------------------------------------------------------

CELERY_BROKER_URL = _require_env("REDIS_URL")
CELERY_BROKER_CONNECTION_RETRY = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for Redis without a limit
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # After that, an unacknowledged message goes to another worker; no task runs longer.
    "visibility_timeout": 3_600,  # seconds
    "socket_connect_timeout": 3,  # seconds; senders of messages must not wait long
    "socket_timeout": 5,  # seconds; longer than a worker waits for the next message at a time
    "socket_keepalive": True,
    "health_check_interval": 30,  # seconds
}
# One immediate retry, for a connection that broke while it was idle. The reconciliation makes up
# for messages that could not be sent. (Without any retry here, Celery would try for six seconds.)
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}

# The rows are the queue and count attempts. A redelivered message has no count, so a document that
# kills its worker would be tried forever.
CELERY_TASK_REJECT_ON_WORKER_LOST = False
# A worker stops after STRATA_WORKER_RUN_SECONDS and one batch, a parser after STRATA_PARSE_SECONDS,
# so a task that reaches these limits hangs. The first limit raises in the task, which releases its
# claim; the second kills the process, and the claim expires.
CELERY_TASK_SOFT_TIME_LIMIT = 1_800  # seconds
CELERY_TASK_TIME_LIMIT = 2_100  # seconds
# A process keeps the memory of a large document; with the model, a child uses half of this.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = (
    read_int("STRATA_WORKER_MEMORY_BYTES", 1_500_000_000) // 1024
)  # KiB; checked between tasks
CELERY_WORKER_SEND_TASK_EVENTS = True  # Flower shows what runs
CELERY_TASK_SEND_SENT_EVENT = True  # and what waits
CELERY_BEAT_SCHEDULER = (
    "config.health:HeartbeatScheduler"  # no state to keep: every task runs often
)

# --- Logging ---------------------------------------------------------------------------------

# Only to stderr: the supervisor collects it, and the output of commands on stdout stays clean.
LOGGING = {
    **LOGGING,
    "root": {"handlers": ["stderr"], "level": read_choice("STRATA_LOG_LEVEL", "INFO", LOG_LEVELS)},
    # httpx logs every request to Qdrant, and mcp every request of an agent.
    "loggers": {
        **LOGGING["loggers"],
        **{name: {"level": "WARNING"} for name in ("httpx", "mcp")},
    },
}
