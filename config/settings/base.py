"""Settings shared by embedded mode and production. Each setting of Strata states its unit and its
reason."""

import os
from datetime import timedelta
from importlib.metadata import entry_points
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS

from config.environment import (
    BASE_DIR,
    LOG_LEVELS,
    read_base_path,
    read_choice,
    read_data_dir,
    read_folder,
    read_int,
    read_list,
    read_networks,
    read_number,
    read_project_dir,
    read_url,
    require_url,
)

STRATA_RELEASE = "0.2.0"  # also the version of the wheel; set by `make release`
STRATA_PROJECT_DIR = read_project_dir()
STRATA_DATA_DIR = read_data_dir()
STRATA_SPECS_DIR = read_folder("STRATA_SPECS_DIR", STRATA_PROJECT_DIR / "specs")
# One folder for each index with golden queries, by which its new builds are measured.
STRATA_GOLDEN_DIR = read_folder("STRATA_GOLDEN_DIR", STRATA_PROJECT_DIR / "golden")
# Query pipelines in addition to those in answers/pipelines: one YAML file each.
STRATA_PIPELINES_DIR = read_folder("STRATA_PIPELINES_DIR", STRATA_PROJECT_DIR / "pipelines")
STRATA_PROMPTS_DIR = BASE_DIR / "templates" / "prompts"

INSTALLED_APPS = [
    "config.apps.ConfigConfig",
    "access.apps.AccessConfig",
    "sign_in.apps.SignInConfig",
    "audit.apps.AuditConfig",
    "webhooks.apps.WebhooksConfig",
    "documents.apps.DocumentsConfig",
    "indexing.apps.IndexingConfig",
    "summaries.apps.SummariesConfig",
    "retrieval.apps.RetrievalConfig",
    "answers.apps.AnswersConfig",
    "spaces.apps.SpacesConfig",
    "concepts.apps.ConceptsConfig",
    "backup.apps.BackupConfig",
    "copies.apps.CopiesConfig",
    "curation.apps.CurationConfig",
    "feeds.apps.FeedsConfig",
    "processing.apps.ProcessingConfig",
    "evaluation.apps.EvaluationConfig",
    "evidence.apps.EvidenceConfig",
    "guests.apps.GuestsConfig",
    "mcp_server.apps.McpServerConfig",
    "presets.papers.apps.PapersConfig",
    # Presets of other distributions.
    *(preset.value for preset in entry_points(group="strata.presets")),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
]

MIDDLEWARE = [
    "config.request_log.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.CookiePathMiddleware",
    "config.middleware.ContentSecurityPolicyMiddleware",
    "config.middleware.BodyLimitMiddleware",  # before any that reads a form
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.error_statuses.StrataErrorMiddleware",
    "audit.middleware.AuditMiddleware",  # it sees what views answer
    "axes.middleware.AxesMiddleware",  # answers 429 to those who are locked out
]

# Names by which requests may address the service, separated by commas.
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS")
STRATA_LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

# The path below which a proxy serves Strata, such as /strata. Empty: X-Forwarded-Prefix says it.
# That header and X-Forwarded-Proto are read in requests of these addresses and networks only.
STRATA_BASE_PATH = read_base_path("STRATA_BASE_PATH")
STRATA_TRUSTED_PROXIES = read_networks("STRATA_TRUSTED_PROXIES", "127.0.0.0/8,::1")
FORCE_SCRIPT_NAME = STRATA_BASE_PATH or None
if STRATA_BASE_PATH:  # another service at the root of the host may have cookies of Django's names
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "strata_sessionid", "strata_csrftoken"

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.request_handling.handle_request"  # MCP sends it requests to REST
FILE_UPLOAD_TEMP_DIR = STRATA_DATA_DIR / "uploads"
FILE_UPLOAD_HANDLERS = ["documents.originals.IncomingFileHandler"]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "console", BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.context.menu",
                "sign_in.context.sign_in",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
WHITENOISE_STATIC_PREFIX = "/static/"  # below the path of the service, whatever that is
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "console.files.PageFilesStorage"},
}
STATICFILES_DIRS = [BASE_DIR / "console"]
STATICFILES_FINDERS = [
    "console.files.PageFilesFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
STATIC_ROOT = STRATA_DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True  # no collectstatic before the first start
WHITENOISE_AUTOREFRESH = False

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},  # each answer under way is an entry of some kilobytes
    }
}

# --- Documents -------------------------------------------------------------------------------

STRATA_FILES_DIR = STRATA_DATA_DIR / "files"  # originals, and files that arrive or are read
# Originals in this bucket instead. Its server, if that is not AWS.
STRATA_S3_BUCKET = os.environ.get("STRATA_S3_BUCKET", "").strip()
STRATA_S3_ENDPOINT = read_url("STRATA_S3_ENDPOINT")
STRATA_MAX_UPLOAD_BYTES = read_int("STRATA_MAX_UPLOAD_BYTES", 200 * 2**20)
STRATA_MAX_JSON_BYTES = 32 * 2**20  # one JSON document, or one line of a batch
DATA_UPLOAD_MAX_MEMORY_SIZE = STRATA_MAX_JSON_BYTES  # a form without its files

# Limits of the child process that parses a file.
STRATA_PARSE_SECONDS = read_int("STRATA_PARSE_SECONDS", 120)  # wall clock, per file
STRATA_PARSE_MEMORY_BYTES = read_int("STRATA_PARSE_MEMORY_BYTES", 2 * 2**30)
# Files read at once by a process. 0: as many as half of the memory has room for, at most one for
# each core.
STRATA_PARSE_PROCESSES = read_int("STRATA_PARSE_PROCESSES", 0)
STRATA_PARSE_MAX_PAGES = read_int("STRATA_PARSE_MAX_PAGES", 10_000)
STRATA_PARSE_MAX_EXPANDED_BYTES = 100 * 2**20  # all members of an archive, unpacked
STRATA_PARSE_MAX_TEXT_CHARS = read_int("STRATA_PARSE_MAX_TEXT_CHARS", 50_000_000)

# The ending of a file's name -> what reads such files instead of Strata: docling, unstructured,
# docling-serve, or a class as "module:Class".
STRATA_READERS = dict(each.partition("=")[::2] for each in read_list("STRATA_READERS"))
STRATA_DOCLING_SERVE_URL = read_url("STRATA_DOCLING_SERVE_URL")  # without "/v1"
STRATA_DOCLING_SERVE_API_KEY = os.environ.get("STRATA_DOCLING_SERVE_API_KEY", "").strip()
# Per file, without the time that it waits for others. Scans take seconds a page.
STRATA_DOCLING_SERVE_SECONDS = read_number("STRATA_DOCLING_SERVE_SECONDS", 600, at_most=86_400)

# A virus scanner (clamd) that is asked about each file before it is read or given out:
# "host:port", or the path of its socket. Empty: none.
STRATA_CLAMD = os.environ.get("STRATA_CLAMD", "").strip()
STRATA_CLAMD_SECONDS = 120  # without an answer

# --- Indexing --------------------------------------------------------------------------------

STRATA_VECTORS_DIR = STRATA_DATA_DIR / "vectors"  # the embedded engine's collections
# Downloaded weights.
STRATA_MODELS_DIR = read_folder("STRATA_MODELS_DIR", STRATA_DATA_DIR / "models")
STRATA_EMBEDDING_THREADS = read_int("STRATA_EMBEDDING_THREADS", 0) or None  # all cores
# A request waits this long for a model that is being loaded, then gets 503. Most models are loaded
# from disk by then or soon after.
STRATA_MODEL_WAIT_SECONDS = 1.5
# Nodes of one document in one build: some thousand pages. Embedding them takes minutes.
STRATA_MAX_DOCUMENT_NODES = read_int("STRATA_MAX_DOCUMENT_NODES", 50_000)
STRATA_SYNC_BATCH = 1_024  # nodes claimed at once: writing their points costs one flush
STRATA_LEASE_SECONDS = 120  # other workers may take over a claim that is not renewed in this time
STRATA_EDIT_SPECS = False  # whether the API may write the files of the specs
STRATA_MAX_ATTEMPTS = 5
STRATA_MIN_FREE_BYTES = 256 * 2**20  # the engine crashes on a full disk, so writes stop earlier
STRATA_RECONCILE_SECONDS = 60
# A worker stops after this time and the current batch, so that other tasks get their turn and a
# child process that has grown can be replaced.
STRATA_WORKER_RUN_SECONDS = 20
STRATA_UNCONFIRMED_SECONDS = 300  # a write not answered by then has ended; its outcome is checked
STRATA_MIN_REVISION_SECONDS = 5.0  # a search waits this long for a revision, then gets 409
# A retired build is removed after this time; no search reads it that long.
STRATA_RETIRED_BUILD_GRACE_SECONDS = 60
STRATA_ERASE_SECONDS = 86_400  # until deleted text leaves the files of the embedded form
STRATA_AUDIT_SOURCES = 500  # sources whose text each reconciliation hashes again
STRATA_AUDIT_POINTS = 500  # points of a build compared with their nodes each minute
# 0: a loss is only reported, and left to verify --repair.
STRATA_RESTORE_LOST_POINTS = bool(read_int("STRATA_RESTORE_LOST_POINTS", 1))

# The part of collection names after the index's name, unless the spec names the collections. Points
# are not moved when this changes: set it before the first document.
STRATA_COLLECTION_NAMES = {
    "chunk": os.environ.get("PAGE_EMBEDDING_COLLECTION_NAME", "page_embeddings"),
    "summary": os.environ.get("SUMMARY_EMBEDDING_COLLECTION_NAME", "summary_embeddings"),
    "question": os.environ.get("QUESTION_EMBEDDING_COLLECTION_NAME", "question_embeddings"),
    "concept": os.environ.get("CONCEPT_EMBEDDING_COLLECTION_NAME", "concept_embeddings"),
    "relationship": os.environ.get(
        "RELATIONSHIP_EMBEDDING_COLLECTION_NAME", "relationship_embeddings"
    ),
    "compound": os.environ.get("COMPOUND_EMBEDDING_COLLECTION_NAME", "compound_embeddings"),
    "image": os.environ.get("IMAGE_EMBEDDING_COLLECTION_NAME", "image_embeddings"),
}

# Words of a source that the next one on its page repeats. It applies to documents that are read
# from then on: sources are cut once, before any index is built, so they are no part of a spec.
STRATA_SOURCE_OVERLAP_WORDS = read_int("STRATA_SOURCE_OVERLAP_WORDS", 0)

# Two concepts with at least this cosine similarity are kept as an emergent pair.
STRATA_EMERGENT_SIMILARITY = read_number("STRATA_EMERGENT_SIMILARITY", 0.85, at_most=1)
STRATA_EMERGENT_NEIGHBOURS = 10  # nearest concepts compared with each concept

# An OpenAI-compatible endpoint for ``provider: openai``.
STRATA_OPENAI_BASE_URL = read_url("STRATA_OPENAI_BASE_URL", "https://api.openai.com/v1")
STRATA_OPENAI_API_KEY = os.environ.get("STRATA_OPENAI_API_KEY", "")

# --- Language model --------------------------------------------------------------------------

# Any endpoint with OpenAI's chat completions API. Without one, rules write summaries and fields.
STRATA_LLM_BASE_URL = read_url("STRATA_LLM_BASE_URL")  # including "/v1"
STRATA_LLM_MODEL = os.environ.get("STRATA_LLM_MODEL", "")
STRATA_LLM_API_KEY = os.environ.get("STRATA_LLM_API_KEY", "").strip()
# The longest that one call may take: a model of 4 tokens a second writes the longest texts asked
# for in it. A model that does not begin to answer is given up earlier if it was measured as faster.
STRATA_LLM_TIMEOUT_SECONDS = read_number("STRATA_LLM_TIMEOUT_SECONDS", 300, at_most=3_600)
STRATA_LLM_RETRIES = read_int("STRATA_LLM_RETRIES", 3)  # after no answer, 429 or 5xx
STRATA_LLM_BACKOFF_SECONDS = 1.0  # before the first retry, at most; doubles with each
STRATA_LLM_MAX_WAIT_SECONDS = 30.0  # if a server asks for longer, the queue retries
# Concurrent calls of one process: endpoints limit them, and a local server runs only few well.
STRATA_LLM_CONCURRENCY = read_int("STRATA_LLM_CONCURRENCY", 4)
# Characters of document text per call: about 6,000 tokens, which fits small models.
STRATA_LLM_CONTEXT_CHARS = read_int("STRATA_LLM_CONTEXT_CHARS", 24_000)

# Hosts of webhook receivers, models, docling-serve and the OpenID provider, and those of documents,
# that may have a private address, separated by commas.
STRATA_PRIVATE_HOSTS = read_list("STRATA_PRIVATE_HOSTS")

# Hosts from which documents are fetched by their address, separated by commas, such as
# "*.example.org", or "docs.example.org:8443" for another port than that of http or https; empty:
# none.
STRATA_FETCH_HOSTS = read_list("STRATA_FETCH_HOSTS")

# What import_acl --download downloads: a ZIP of the ACL Anthology's repository, or one file of it.
STRATA_ANTHOLOGY_URL = read_url("STRATA_ANTHOLOGY_URL")

# --- Webhooks --------------------------------------------------------------------------------

# Receivers of events, separated by commas; write a comma inside a URL as "%2C".
STRATA_WEBHOOK_URLS = [
    require_url("STRATA_WEBHOOK_URLS", url) for url in read_list("STRATA_WEBHOOK_URLS")
]
# Signs the events: "whsec_" and base64 of 24 to 64 random bytes.
STRATA_WEBHOOK_SECRET = os.environ.get("STRATA_WEBHOOK_SECRET", "").strip()

# --- Web server ------------------------------------------------------------------------------

# Views that run at once, each with a database connection; other requests wait without a thread.
STRATA_WEB_THREADS = 8
# Threads in which batches of documents are stored, in turns of some lines. More would take the
# interpreter and the database from other requests.
STRATA_BATCH_THREADS = 2
# Threads for pages that wait for the host of an application or the OpenID provider, so that slow
# ones do not take those of other requests.
STRATA_AWAY_THREADS = 2
# Concurrent answers of `ask` in one process; the next caller gets 503. A stream takes no thread,
# but about 100 KB and one call to the language model.
STRATA_MAX_STREAMS = read_int("STRATA_MAX_STREAMS", 100)
# Connections open at once in one process; a further one takes the place of an idle one, or waits in
# the kernel. Together with the engine's files they stay below the default limit of 1,024
# descriptors.
STRATA_MAX_CONNECTIONS = read_int("STRATA_MAX_CONNECTIONS", 600)
# Of one address, in one process; a further one takes the place of an idle one of that address, or
# is closed. Half, so that others have room. 0: no limit, for a service behind a proxy, from whose
# address all connections come.
STRATA_MAX_CONNECTIONS_PER_ADDRESS = read_int(
    "STRATA_MAX_CONNECTIONS_PER_ADDRESS", STRATA_MAX_CONNECTIONS // 2
)
STRATA_HEADER_SECONDS = 10  # from the connection to the end of the first header
# From an answer to the end of the next header. Longer than proxies keep idle connections, so that
# no proxy sends a request on a closed one.
STRATA_IDLE_SECONDS = 75
STRATA_BODY_SECONDS = 30  # for all of a small body, or the next piece of a larger one
STRATA_WRITE_SECONDS = 30  # for the client to read what is sent at once: 256 KiB at most
STRATA_WEB_DRAIN_SECONDS = 2  # for running requests to finish when the embedded form stops
STRATA_MAX_HEADER_BYTES = 64 * 2**10
STRATA_MAX_REQUEST_BYTES = 64 * 2**10  # a body, except for views that accept uploads
STRATA_MAX_BATCH_BYTES = 16 * 2**30  # all lines of one batch

# --- Users -----------------------------------------------------------------------------------

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "search-page"
LOGOUT_REDIRECT_URL = "sign-in"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in {
        "UserAttributeSimilarityValidator": {},
        "MinimumLengthValidator": {"min_length": 12},
        "CommonPasswordValidator": {},
        "NumericPasswordValidator": {},
    }.items()
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: it costs no password check
    "django.contrib.auth.backends.ModelBackend",
]

# Failed sign-ins are counted in the database, for all processes: by name, and by address. Hundreds
# of people may share an address, and one of them fails ten times with one name at most.
STRATA_ADDRESS_SIGN_IN_FAILURES = 100
AXES_LOCKOUT_PARAMETERS = "sign_in.lockout.list_parameters"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # attempts do not make it longer
AXES_LOCKOUT_CALLABLE = "sign_in.lockout.answer_locked_out"
AXES_CLIENT_IP_CALLABLE = "access.client_address.get_client_address"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False  # `strata axes_reset_username NAME` ends a lock-out
AXES_VERBOSE = False
# The header with the address of the client, which a proxy sets. Empty: no proxy is in front.
STRATA_CLIENT_ADDRESS_HEADER = ""

OTP_TOTP_ISSUER = "Strata"  # shown by the app of the second factor

# An OpenID provider whose users may sign in: its issuer, exactly as it names itself. Empty: none.
STRATA_OIDC_ISSUER = read_url("STRATA_OIDC_ISSUER")
STRATA_OIDC_CLIENT_ID = os.environ.get("STRATA_OIDC_CLIENT_ID", "").strip()
STRATA_OIDC_CLIENT_SECRET = os.environ.get("STRATA_OIDC_CLIENT_SECRET", "").strip()
STRATA_OIDC_SCOPES = os.environ.get("STRATA_OIDC_SCOPES", "openid profile email")
STRATA_OIDC_GROUPS_CLAIM = os.environ.get("STRATA_OIDC_GROUPS_CLAIM", "groups")
# After this time a user must sign in again, so that users whom the provider removed lose access.
STRATA_OIDC_SESSION_SECONDS = 12 * 3_600
# Whether users may give applications access over MCP, with OAuth. Only over https or on loopback.
STRATA_MCP_OAUTH = bool(read_int("STRATA_MCP_OAUTH", 1))

# --- Limits of one key -----------------------------------------------------------------------

# What one key, signed-in user or address of callers without a key may use. 0: no limit, as suits
# one person's own machine; the production form has limits by default.
STRATA_KEY_REQUESTS_PER_MINUTE = read_int("STRATA_KEY_REQUESTS_PER_MINUTE", 0)
STRATA_KEY_STREAMS = read_int("STRATA_KEY_STREAMS", 0)  # answers of `ask` at once
# Evaluations that are not finished.
STRATA_KEY_WAITING_JOBS = read_int("STRATA_KEY_WAITING_JOBS", 0)
STRATA_KEY_WAITING_UPLOADS = read_int("STRATA_KEY_WAITING_UPLOADS", 0)  # unread files
# Of the language model, for questions and evaluations; a token is about four characters.
STRATA_KEY_MODEL_CALLS_PER_DAY = read_int("STRATA_KEY_MODEL_CALLS_PER_DAY", 0)
STRATA_KEY_MODEL_TOKENS_PER_DAY = read_int("STRATA_KEY_MODEL_TOKENS_PER_DAY", 0)

# Of one address, in both forms: too few to guess a key that somebody chose. 0: no limit.
STRATA_WRONG_KEYS_PER_MINUTE = 60

# --- Audit -----------------------------------------------------------------------------------

STRATA_AUDIT_LOG_READS = bool(read_int("STRATA_AUDIT_LOG_READS", 0))  # not only changes
STRATA_AUDIT_LOG_DAYS = read_int("STRATA_AUDIT_LOG_DAYS", 400)  # over a year. 0: rows are kept

# --- API -------------------------------------------------------------------------------------

STRATA_ADMIN_KEY = os.environ.get("STRATA_ADMIN_KEY", "")  # the first admin key, for scripts
PASSWORD_HASHERS = ["access.passwords.OneAtATimePasswordHasher"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "access.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["access.permissions.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["access.request_throttle.RequestLimit"],
    "DEFAULT_RENDERER_CLASSES": ["core.http_formats.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.http_formats.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.http_formats.ContentNegotiation",
    "DEFAULT_SCHEMA_CLASS": "core.openapi.OperationSchema",
    "EXCEPTION_HANDLER": "config.error_statuses.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Strata",
    "DESCRIPTION": "Index documents and search them; every hit is checked against its document.",
    "VERSION": STRATA_RELEASE,
    "OAS_VERSION": "3.1.0",  # whose schemas are JSON schemas
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "TAGS": [
        {"name": "Search", "description": "Find passages, pages, documents and concepts."},
        {"name": "Answers", "description": "Answer questions in whole sentences, with citations."},
        {"name": "Documents", "description": "Add, read, change and remove documents."},
        {"name": "Sources", "description": "Sources from which documents come by themselves."},
        {"name": "Indexes and builds", "description": "List indexes, and build them again."},
        {"name": "Summaries", "description": "Read and edit the summaries of documents."},
        {"name": "Concepts", "description": "Concepts, their quotes and their relationships."},
        {"name": "Findings", "description": "Findings of research agents, without duplicates."},
        {
            "name": "Evaluation",
            "description": "Judge hits, and measure searches with the judgements.",
        },
        {"name": "Operation", "description": "Verify, repair and regenerate."},
        {"name": "Keys", "description": "Make and revoke API keys; list people and groups."},
        {"name": "Webhooks", "description": "Events that were sent to other systems."},
        {"name": "Audit", "description": "Who did what, when and from where."},
    ],
    "GET_LIB_DOC_EXCLUDES": "core.openapi.list_classes_without_description",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": [],  # a name for each enum would have to be kept here
}

# --- Work ------------------------------------------------------------------------------------

CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
STRATA_HEARTBEAT_FILE = os.environ.get("STRATA_HEARTBEAT_FILE", "")  # of a worker, or of beat
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "fmt": "{levelname}{name}{message}{request_id}",
            "style": "{",
            "rename_fields": {"levelname": "level", "name": "logger"},
            "timestamp": "time",
            "reserved_attrs": [*RESERVED_ATTRS, "request"],  # Django's: it shows the query
        },
    },
    "filters": {
        "request_id": {"()": "core.request_id.RequestIdFilter"},
        "regular_tasks": {"()": "core.task_log.RegularTaskFilter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["request_id"],
            "formatter": read_choice("STRATA_LOG_FORMAT", "plain", ("plain", "json")),
        }
    },
    "root": {
        "handlers": ["stderr"],
        "level": read_choice("STRATA_LOG_LEVEL", "WARNING", LOG_LEVELS),
    },
    # The line of each request has its status, and no path that a caller wrote. What Django calls a
    # fault of security is a malformed request, such as one with a foreign Host: the answer says so.
    "loggers": {
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "CRITICAL"},
        **{
            name: {"filters": ["regular_tasks"]}
            for name in ("celery.app.trace", "celery.beat", "celery.worker.strategy")
        },
    },
}
