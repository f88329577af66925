"""Settings shared by embedded mode and production. Each of ours states its unit and its reason."""

import os
from importlib.metadata import entry_points
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parents[2]

# The service writes only below this folder.
STRATA_DATA_DIR = Path(os.environ.get("STRATA_DATA_DIR", BASE_DIR / "var")).resolve()
STRATA_SPECS_DIR = Path(os.environ.get("STRATA_SPECS_DIR", BASE_DIR / "specs")).resolve()
# One folder per index with golden queries, which are used to measure its new builds.
STRATA_GOLDEN_DIR = Path(os.environ.get("STRATA_GOLDEN_DIR", BASE_DIR / "golden")).resolve()
# Query pipelines in addition to those in retrieval/pipelines: one YAML file each.
STRATA_PIPELINES_DIR = Path(
    os.environ.get("STRATA_PIPELINES_DIR", BASE_DIR / "pipelines")
).resolve()
STRATA_PROMPTS_DIR = BASE_DIR / "templates" / "prompts"

INSTALLED_APPS = [
    "config.apps.ConfigConfig",
    "access.apps.AccessConfig",
    "webhooks.apps.WebhooksConfig",
    "documents.apps.DocumentsConfig",
    "indexing.apps.IndexingConfig",
    "summaries.apps.SummariesConfig",
    "concepts.apps.ConceptsConfig",
    "retrieval.apps.RetrievalConfig",
    "evaluation.apps.EvaluationConfig",
    "evidence.apps.EvidenceConfig",
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
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.body_limits.BodyLimitMiddleware",  # before any that reads a form
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
FILE_UPLOAD_TEMP_DIR = STRATA_DATA_DIR / "uploads"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = STRATA_DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True  # nothing has to be collected before the first start
WHITENOISE_AUTOREFRESH = False

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},  # one entry of a few kilobytes per answer in progress
    }
}

# --- Documents -------------------------------------------------------------------------------

STRATA_FILES_DIR = STRATA_DATA_DIR / "files"  # originals
STRATA_MAX_UPLOAD_BYTES = int(os.environ.get("STRATA_MAX_UPLOAD_BYTES", 200 * 2**20))
STRATA_MAX_JSON_BYTES = 32 * 2**20  # one JSON document, or one line of a batch
DATA_UPLOAD_MAX_MEMORY_SIZE = STRATA_MAX_JSON_BYTES  # a form without its files

# Limits of the child process that runs a parser.
STRATA_PARSE_SECONDS = int(os.environ.get("STRATA_PARSE_SECONDS", 120))  # wall clock, per file
STRATA_PARSE_MEMORY_BYTES = int(os.environ.get("STRATA_PARSE_MEMORY_BYTES", 2 * 2**30))
STRATA_PARSE_MAX_PAGES = 10_000
STRATA_PARSE_MAX_EXPANDED_BYTES = 100 * 2**20  # all archive members of a file, unpacked
STRATA_PARSE_MAX_TEXT_CHARS = 50_000_000

# --- Indexing --------------------------------------------------------------------------------

STRATA_VECTORS_DIR = STRATA_DATA_DIR / "vectors"  # the embedded engine's collections
STRATA_MODELS_DIR = Path(
    os.environ.get("STRATA_MODELS_DIR", STRATA_DATA_DIR / "models")
)  # converted and downloaded weights
STRATA_EMBEDDING_THREADS = int(os.environ.get("STRATA_EMBEDDING_THREADS", 0)) or None  # all cores
# A request waits this long for a model that is being loaded, then fails with 503. Most models
# load from disk in about this time.
STRATA_MODEL_WAIT_SECONDS = 1.5
STRATA_SYNC_BATCH = 256  # nodes claimed at once: enough to sort by length, seconds of work
STRATA_LEASE_SECONDS = 120  # after that, other workers may claim the rows
STRATA_MAX_ATTEMPTS = 5
STRATA_MIN_FREE_BYTES = 256 * 2**20  # the engine dies on a full disk, so writes stop before it
STRATA_RECONCILE_SECONDS = 60
# A task works on builds this long, then finishes its batch and ends: other tasks get their turn,
# and a child process that uses too much memory is replaced.
STRATA_WORKER_RUN_SECONDS = 20
STRATA_UNCONFIRMED_SECONDS = 300  # after that, an unanswered write is checked in the store
STRATA_MIN_REVISION_SECONDS = 5.0  # a search with min_revision waits this long, then fails with 409
# A retired build is removed after this time; no search reads it that long.
STRATA_RETIRED_BUILD_GRACE_SECONDS = 60
STRATA_AUDIT_SOURCES = 500  # sources whose text each reconciliation hashes again

# Suffixes of collection names, unless the spec names the collections. Existing points are not
# moved: change a suffix only before the first document.
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

# Concepts with a higher cosine than this are stored as pairs, for people to relate.
STRATA_EMERGENT_SIMILARITY = float(os.environ.get("STRATA_EMERGENT_SIMILARITY", 0.85))
STRATA_EMERGENT_NEIGHBOURS = 10  # compared per concept, so that the number of pairs grows linearly

# An OpenAI-compatible endpoint for ``provider: openai``.
STRATA_OPENAI_BASE_URL = os.environ.get("STRATA_OPENAI_BASE_URL", "https://api.openai.com/v1")
STRATA_OPENAI_API_KEY = os.environ.get("STRATA_OPENAI_API_KEY", "")

# --- Language model --------------------------------------------------------------------------

# Any endpoint with OpenAI's chat completions API. Without one, rules write the texts they can.
STRATA_LLM_BASE_URL = os.environ.get("STRATA_LLM_BASE_URL", "")  # including its "/v1"
STRATA_LLM_MODEL = os.environ.get("STRATA_LLM_MODEL", "")
STRATA_LLM_API_KEY = os.environ.get("STRATA_LLM_API_KEY", "").strip()
# Without a byte of the response. Responses are not streamed, so each must be complete within this.
STRATA_LLM_TIMEOUT_SECONDS = float(os.environ.get("STRATA_LLM_TIMEOUT_SECONDS", 60))
STRATA_LLM_RETRIES = int(os.environ.get("STRATA_LLM_RETRIES", 3))  # after no answer, 429 or 5xx
STRATA_LLM_BACKOFF_SECONDS = 1.0  # at most, before the first retry; doubles with each retry
STRATA_LLM_MAX_WAIT_SECONDS = 30.0  # if a server asks for longer, the queue retries
# Calls in flight per process: endpoints limit them, and a local server handles only a few well.
STRATA_LLM_CONCURRENCY = int(os.environ.get("STRATA_LLM_CONCURRENCY", 4))
# Characters of document text per call: about 6,000 tokens, which fits small models.
STRATA_LLM_CONTEXT_CHARS = int(os.environ.get("STRATA_LLM_CONTEXT_CHARS", 24_000))

# --- Webhooks --------------------------------------------------------------------------------

# URLs that receive events, separated by commas; write a comma inside a URL as "%2C".
STRATA_WEBHOOK_URLS = [
    url.strip() for url in os.environ.get("STRATA_WEBHOOK_URLS", "").split(",") if url.strip()
]
# Signs the events: "whsec_" and base64 of 24 to 64 random bytes.
STRATA_WEBHOOK_SECRET = os.environ.get("STRATA_WEBHOOK_SECRET", "").strip()

# --- Web server ------------------------------------------------------------------------------

# Views running at once, each with a database connection; further requests wait without a thread.
STRATA_WEB_THREADS = 8
# Answers of `ask` in progress per process; the next request fails with 503. A stream needs no
# thread, but about 100 KB and one LLM call.
STRATA_MAX_STREAMS = int(os.environ.get("STRATA_MAX_STREAMS", 100))
# Open at once per process; more wait in the kernel. Together with the engine's files, they stay
# below the default limit of 1,024 descriptors per process.
STRATA_MAX_CONNECTIONS = int(os.environ.get("STRATA_MAX_CONNECTIONS", 600))
STRATA_HEADER_SECONDS = 10  # from the connection to the end of the first header
# To the end of the next header. It must be longer than proxies keep idle connections: otherwise
# they send requests into closed ones.
STRATA_IDLE_SECONDS = 75
STRATA_BODY_SECONDS = 30  # for all of a small body, or the next piece of a larger one
STRATA_WRITE_SECONDS = 30  # for the client to read what is sent at once: 256 KiB at most
STRATA_WEB_DRAIN_SECONDS = 2  # for running requests to finish when the embedded form stops
STRATA_MAX_HEADER_BYTES = 64 * 2**10
STRATA_MAX_REQUEST_BYTES = 64 * 2**10  # a body, except in views that expect an upload
STRATA_MAX_BATCH_BYTES = 16 * 2**30  # all lines of one batch

# --- API -------------------------------------------------------------------------------------

STRATA_ADMIN_KEY = os.environ.get("STRATA_ADMIN_KEY", "")  # the first admin key, for scripts

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "access.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["core.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.negotiation.ContentNegotiation",
    "DEFAULT_SCHEMA_CLASS": "core.openapi.OperationSchema",
    "EXCEPTION_HANDLER": "config.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Strata",
    "DESCRIPTION": "Index documents and search them; every hit is checked against its document.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "TAGS": [
        {"name": "Search", "description": "Find passages, pages, documents and concepts."},
        {"name": "Answers", "description": "Answer questions in whole sentences, with citations."},
        {"name": "Documents", "description": "Add, read, change and remove documents."},
        {"name": "Indexes and builds", "description": "List indexes, and build them again."},
        {"name": "Summaries", "description": "Read and edit the summaries of documents."},
        {"name": "Concepts", "description": "Concepts, their evidence and their relationships."},
        {"name": "Evidence", "description": "Findings of research agents, without duplicates."},
        {
            "name": "Evaluation",
            "description": "Judge hits, and measure searches with the judgements.",
        },
        {"name": "Operation", "description": "Verify, repair and regenerate."},
    ],
    "GET_LIB_DOC_EXCLUDES": "core.openapi.list_classes_without_description",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # Names for enums of fields with the same name but different values.
    "ENUM_NAME_OVERRIDES": {
        "EvaluationState": "evaluation.models.EvaluationRun.State",
        "JudgementVerdict": ["good", "bad"],
        "QuoteVerdict": ["exact", "stale", "lost"],
        "KnowledgeKind": ["concept", "source", "relationship_type"],
    },
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

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("STRATA_LOG_LEVEL", "WARNING")},
}
