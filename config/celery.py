"""The Celery application: its queues, and what runs by the clock."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

app = Celery("strata")
app.config_from_object("django.conf:settings", namespace="CELERY")
QUEUES = (
    "documents",  # reading files, planning the ledger: short, many
    "indexing",  # embedding and writing points: long, few
    "llm",  # waiting for a language model: long, many
)
app.conf.task_queues = {name: {"exchange": name, "routing_key": name} for name in QUEUES}
app.conf.task_default_queue = "documents"
app.conf.task_routes = {
    "indexing.tasks.settle": {"queue": "indexing"},
    "summaries.tasks.write": {"queue": "llm"},
}
app.conf.beat_schedule = {
    "sweep-documents": {"task": "documents.tasks.sweep_documents", "schedule": 60.0},
    "sweep-indexes": {"task": "indexing.tasks.sweep_indexes", "schedule": 60.0},
    "sweep-writing": {"task": "summaries.tasks.sweep_writing", "schedule": 60.0},
}
app.autodiscover_tasks()
