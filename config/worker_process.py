"""What a worker or beat in a process of its own does beside its tasks: it stops when asked to,
says that it lives, and leaves logging to Django. The embedded form has its own ways."""

import logging
import mmap
import threading
from pathlib import Path
from typing import Any

from celery import signals
from django.conf import settings

logger = logging.getLogger(__name__)

# One byte that a worker shares with the children it forks. Plain memory: a lock in it would
# stay held by a child that was killed.
_is_stopping = mmap.mmap(-1, 1)


class WorkerStopping(threading.Event):
    """Set in every child as soon as the worker they belong to is asked to stop."""

    def is_set(self) -> bool:
        return super().is_set() or _is_stopping[0] == 1


@signals.worker_shutting_down.connect
def announce_stop(**kwargs: Any) -> None:
    """In the worker itself: Celery only waits for its children and tells them nothing."""
    _is_stopping[0] = 1


@signals.worker_process_init.connect
def heed_stop(**kwargs: Any) -> None:
    """In each child: a round ends after the batch under way, and is gone on with elsewhere."""
    from config.background_workers import ROUNDS

    for work in ROUNDS:
        work.is_stopping = WorkerStopping()


@signals.heartbeat_sent.connect  # by a worker, each two seconds
@signals.after_task_publish.connect  # by beat, each time it wakes the sweeps
def show_life(**kwargs: Any) -> None:
    """Touch a file, for a health check that has nothing else to ask."""
    if settings.STRATA_HEARTBEAT_FILE:
        Path(settings.STRATA_HEARTBEAT_FILE).touch()


@signals.setup_logging.connect
def keep_logging(**kwargs: Any) -> None:
    """That this is heard keeps Celery from setting levels and handlers of its own."""
