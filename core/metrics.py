"""The counters and timers of a process, in the format of Prometheus; ``config.metrics`` shows them.

With ``PROMETHEUS_MULTIPROC_DIR``, which gunicorn's configuration sets, the processes of a server
share them.
"""

from prometheus_client import Counter, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each began: nobody reads it

# Bounds in seconds: a search over a small index takes a few milliseconds, an answer of a language
# model many seconds.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)

REQUESTS = Counter(
    "strata_requests_total", "Requests that were answered.", ["method", "route", "status"]
)
REQUEST_SECONDS = Histogram(
    "strata_request_seconds",
    "Time from a request to the beginning of its answer.",
    ["method", "route"],
    buckets=_BOUNDS,
)
STAGE_SECONDS = Histogram(
    "strata_stage_seconds",
    "Time of a stage of a search, an answer or indexing.",
    ["stage"],
    buckets=_BOUNDS,
)
DROPPED_HITS = Counter(
    "strata_dropped_hits_total",
    "Points found by searches that were not served, because they do not match the database.",
    ["reason"],
)
MODEL_CALLS = Counter("strata_language_model_calls_total", "Calls of the language model.")
MODEL_TOKENS = Counter(
    "strata_language_model_tokens_total", "Tokens sent to and written by the language model."
)
