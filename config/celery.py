"""The Celery application."""

from typing import Any

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

import config.worker_process  # noqa: F401 - its receivers
from config.environment import load_environment
from core.apps import DEFAULT_QUEUE, iter_tasks, list_queues

load_environment()

# An alias, not Celery's broker_transport: Flower and the log identify brokers by URL scheme.
TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "config.redis_transport:Transport")

# By name, because importing it imports the metrics, which config.gunicorn must set up before.
app = Celery("strata", task_cls="config.tracing:TracedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.add_defaults
def configure() -> dict[str, Any]:
    """The queues, and what waits in them; read when Celery first needs its configuration."""
    tasks = dict(iter_tasks())
    return {
        "task_queues": {name: {"exchange": name, "routing_key": name} for name in list_queues()},
        "task_default_queue": DEFAULT_QUEUE,
        "task_routes": {name: {"queue": task.queue} for name, task in tasks.items()},
        "beat_schedule": {
            # Messages expire; otherwise they would pile up while no worker runs.
            name: {"task": name, "schedule": task.every, "options": {"expires": 600}}
            for name, task in tasks.items()
            if task.every
        },
    }
