"""Signal receivers for a Celery worker or beat that runs as its own process: imports, graceful
stop, heartbeat file and logging. Embedded mode does not use them."""

import logging
import mmap
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from celery import current_app, signals
from django.conf import settings

logger = logging.getLogger(__name__)

# One byte that a worker shares with the children it forks. It has no lock, because a killed child
# would keep a lock held.
_stop_flag = mmap.mmap(-1, 1)


class WorkerStopEvent(threading.Event):
    """Set in every child as soon as the worker they belong to is asked to stop."""

    def is_set(self) -> bool:
        return super().is_set() or _stop_flag[0] == 1


@signals.worker_shutting_down.connect
def set_stop_flag(**kwargs: Any) -> None:
    """In the worker itself, because Celery waits for its children without notifying them."""
    _stop_flag[0] = 1


@signals.celeryd_after_setup.connect
def import_libraries_before_forking(**kwargs: Any) -> None:
    """In the worker itself: otherwise each child would import them, which takes 6 s of CPU time,
    and hold its own copy in memory."""
    from indexing.embedding import import_libraries

    for name in ("llama_index.core.schema", "indexing.stores.qdrant", "indexing.stores.sparse"):
        import_module(name)
    import_libraries()


@signals.worker_process_init.connect
def use_shared_stop_event(**kwargs: Any) -> None:
    """In each child: workers stop after the current batch; another process continues the work."""
    from core.apps import list_workers

    for worker in list_workers():
        worker.stop_requested = WorkerStopEvent()


@signals.worker_process_shutdown.connect
def send_last_spans(**kwargs: Any) -> None:
    """In each child, which ends without Python's exit handlers."""
    from config.tracing import flush_spans

    flush_spans()


@signals.worker_process_init.connect
def resume_work_after_loading(**kwargs: Any) -> None:
    """In each child: resume work that waits for a model as soon as the child has loaded it."""
    from indexing.model_loading import model_load_attempted

    model_load_attempted.connect(_reconcile_indexes)


def _reconcile_indexes(**kwargs: Any) -> None:
    from indexing.tasks import reconcile_indexes

    reconcile_indexes.delay()


@signals.heartbeat_sent.connect  # by a worker, each two seconds
@signals.after_task_publish.connect  # by beat, each time it sends a periodic task
def touch_heartbeat_file(**kwargs: Any) -> None:
    """Touch a file for the health check: these processes serve no HTTP."""
    if settings.STRATA_HEARTBEAT_FILE:
        Path(settings.STRATA_HEARTBEAT_FILE).touch()


@signals.heartbeat_sent.connect
def record_queue_heartbeats(**kwargs: Any) -> None:
    """Record that the queues of this worker are served."""
    from config.health import record_heartbeats

    record_heartbeats(current_app.amqp.queues.consume_from)


@signals.setup_logging.connect
def disable_celery_logging(**kwargs: Any) -> None:
    """Do nothing: a connected receiver keeps Celery from configuring logging itself."""
