"""The Celery application: queues, task routes and the beat schedule."""

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

import config.worker_process  # noqa: F401 - its receivers
from config.environment import load_environment

load_environment()

# An alias, not Celery's broker_transport: Flower and the log identify brokers by URL scheme.
TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "config.redis_transport:Transport")

# By name, because importing it imports the metrics, which config.gunicorn must set up before.
app = Celery("strata", task_cls="config.tracing:TracedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
QUEUES = (
    "documents",  # reading files, planning the ledger: short, many
    "indexing",  # embedding and writing points: long, few
    "llm",  # waiting for a language model: long, many
    "webhooks",  # waiting for receivers: seconds each, few
)
app.conf.task_queues = {name: {"exchange": name, "routing_key": name} for name in QUEUES}
app.conf.task_default_queue = "documents"
app.conf.task_routes = {
    "indexing.tasks.sync_nodes": {"queue": "indexing"},
    "indexing.tasks.erase_deleted": {"queue": "indexing"},
    "summaries.tasks.write_due_texts": {"queue": "llm"},
    "concepts.tasks.extract_concepts": {"queue": "llm"},
    "webhooks.tasks.send_due_deliveries": {"queue": "webhooks"},
    "concepts.tasks.update_emergent_pairs": {"queue": "indexing"},
    # These search, so they run where the embedding model is loaded.
    "evaluation.tasks.promote_builds": {"queue": "indexing"},
    "evaluation.tasks.measure_run": {"queue": "indexing"},
}
PERIODIC_TASKS = {  # seconds between two runs
    "documents.tasks.reconcile_documents": 60.0,
    "indexing.tasks.load_new_specs": 60.0,  # costs one query if there is none
    "indexing.tasks.reconcile_indexes": 60.0,
    "indexing.tasks.erase_deleted": 600.0,
    "summaries.tasks.reconcile_written_texts": 60.0,
    "concepts.tasks.reconcile_concepts": 60.0,
    "webhooks.tasks.reconcile_deliveries": 60.0,
    "audit.tasks.seal_and_prune": 60.0,
    "evaluation.tasks.promote_builds": 10.0,  # costs one query if no promotion is requested
    "evaluation.tasks.reconcile_runs": 60.0,
}
app.conf.beat_schedule = {
    # Messages expire; otherwise they would pile up while no worker runs.
    task: {"task": task, "schedule": seconds, "options": {"expires": 600}}
    for task, seconds in PERIODIC_TASKS.items()
}
app.autodiscover_tasks()
