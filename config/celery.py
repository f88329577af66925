"""The Celery application."""

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

import config.worker_process  # noqa: F401 - its receivers
from config.environment import load_environment
from config.queues import PERIODIC_TASKS, QUEUES, TASK_QUEUES

load_environment()

# An alias, not Celery's broker_transport: Flower and the log identify brokers by URL scheme.
TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "config.redis_transport:Transport")

# By name, because importing it imports the metrics, which config.gunicorn must set up before.
app = Celery("strata", task_cls="config.tracing:TracedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = {name: {"exchange": name, "routing_key": name} for name in QUEUES}
app.conf.task_default_queue = QUEUES[0]
app.conf.task_routes = {task: {"queue": queue} for task, queue in TASK_QUEUES.items()}
app.conf.beat_schedule = {
    # Messages expire; otherwise they would pile up while no worker runs.
    task: {"task": task, "schedule": seconds, "options": {"expires": 600}}
    for task, seconds in PERIODIC_TASKS.items()
}
app.autodiscover_tasks()
