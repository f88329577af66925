"""Embedded mode: run the background workers in this process, which owns the vector engine.

``serve`` runs them beside the web server; commands run them when no server is running.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import beat
from celery.worker import state as worker_state

from config.celery import app
from config.health import BEAT, HeartbeatScheduler, record_heartbeats
from core.apps import list_queues, list_workers
from core.leases import release_all_leases
from documents.parsing import close_child_processes, count_readers
from indexing.model_loading import model_load_attempted
from indexing.tasks import enqueue_reconciliation

logger = logging.getLogger(__name__)
_celery_logger = logging.getLogger("celery.worker")

# Besides those that read files: one plans, one syncs, one writes texts, and three do other work.
WORKER_THREADS = 6
WATCH_SECONDS = 5.0  # between two looks at the threads
DRAIN_SECONDS = 3.0  # current work may finish; the rest continues at the next start


class InProcessCelery:
    """Celery's worker and beat in threads of this process, which are started again if they end."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        _celery_logger.setLevel(logging.NOTSET)
        self._start_worker()
        self._start_beat()
        record_heartbeats([*list_queues(), BEAT])
        self._watchdog.start()

    def _start_worker(self) -> None:
        worker_state.should_stop = None
        # Not app.Worker: that is a whole program, with signal handlers and a banner.
        worker = app.WorkController(
            pool="threads",
            concurrency=WORKER_THREADS + count_readers(),
            queues=list_queues(),
            loglevel="WARNING",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        self._thread = threading.Thread(target=worker.start, name="worker", daemon=True)
        self._thread.start()

    def _start_beat(self) -> None:
        self._beat = beat.EmbeddedService(app, thread=True, scheduler_cls=HeartbeatScheduler)
        self._beat.daemon = True
        self._beat.start()

    def _watch(self) -> None:
        while not self._stopped.wait(WATCH_SECONDS):
            self.revive()

    def revive(self) -> None:
        """Start the threads that have ended again; record a heartbeat of those that run."""
        if self._thread.is_alive():
            record_heartbeats(list_queues())
        else:
            logger.error("The thread of the workers has ended; it is started again.")
            self._start_worker()
        if not self._beat.is_alive():
            logger.error("The thread of the periodic tasks has ended; it is started again.")
            self._start_beat()

    def stop(self) -> None:
        self._stopped.set()
        self._watchdog.join()
        self._beat.stop()
        # On a slow machine Celery ends after the interpreter's thread pools, and would log that it
        # cannot use them any more.
        _celery_logger.setLevel(logging.CRITICAL + 1)
        worker_state.should_stop = 0  # Celery's loop exits with this status
        # Its loop checks every two seconds. Unfinished work is not lost: the rows keep it.
        self._thread.join(timeout=0.2)


@contextmanager
def run_local_workers() -> Iterator[None]:
    """Run the background workers in threads until the block ends. This process must own the
    store."""
    # All lease holders are dead: only the process that owns the engine works.
    release_all_leases()
    for worker in list_workers():
        worker.stop_requested.clear()
    workers = InProcessCelery()
    workers.start()
    enqueue_reconciliation()
    model_load_attempted.connect(_resume_work)
    try:
        yield
    finally:
        model_load_attempted.disconnect(_resume_work)
        for worker in list_workers():
            worker.stop_requested.set()
        deadline = time.monotonic() + DRAIN_SECONDS
        close_child_processes()  # a file being parsed is claimed again at the next start
        workers.stop()
        for worker in list_workers():
            worker.wait_idle(max(0.0, deadline - time.monotonic()))


def _resume_work(**kwargs: Any) -> None:
    """Enqueue the work that waits for a model."""
    enqueue_reconciliation()
