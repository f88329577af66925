"""Embedded mode: run the background workers in this process, which owns the vector engine.

``serve`` runs it beside the web server; commands run it by themselves when no server does.
"""

import ctypes
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import beat
from celery.worker import state as worker_state

from config.background_workers import BACKGROUND_WORKERS
from config.celery import QUEUES, app
from core.leases import release_all_leases
from documents.parsing import close_child_processes
from indexing.model_loading import model_tried
from indexing.tasks import enqueue_reconciliation

logger = logging.getLogger(__name__)

# One syncs, one writes, one delivers, two look for concepts and what is near them; the others
# read files and plan.
WORKER_THREADS = 7
MEMORY_TRIM_SECONDS = 3.0  # one round takes some milliseconds
DRAIN_SECONDS = 3.0  # what is under way may finish; what does not is taken up at the next start


class InProcessCelery:
    """Celery's worker and beat in threads of this process."""

    def __init__(self) -> None:
        # Not app.Worker: that one is a program, with signal handlers and a banner of its own.
        self._worker = app.WorkController(
            pool="threads",
            concurrency=WORKER_THREADS,
            queues=list(QUEUES),
            loglevel="WARNING",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        self._beat = beat.EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler")
        self._thread = threading.Thread(target=self._worker.start, name="worker", daemon=True)
        self._beat.daemon = True

    def start(self) -> None:
        self._thread.start()
        self._beat.start()

    def stop(self) -> None:
        self._beat.stop()
        worker_state.should_stop = 0  # the exit status Celery's loop leaves with
        # It looks up every two seconds at the latest; what its tasks leave, the rows still say.
        self._thread.join(timeout=0.2)


@contextmanager
def run_local_workers() -> Iterator[None]:
    """Run the background workers in threads until the block ends. This process must own the
    store."""
    # Whoever held a lease is dead: the engine's owner does all the work there is.
    release_all_leases()
    for work in BACKGROUND_WORKERS:
        work.stop_requested.clear()
    workers = InProcessCelery()
    workers.start()
    stop_event = threading.Event()
    threading.Thread(target=_return_freed_memory, args=[stop_event], daemon=True).start()
    enqueue_reconciliation()
    model_tried.connect(_resume_work)
    try:
        yield
    finally:
        model_tried.disconnect(_resume_work)
        stop_event.set()
        for work in BACKGROUND_WORKERS:
            work.stop_requested.set()
        deadline = time.monotonic() + DRAIN_SECONDS
        close_child_processes()  # a parser at work gives its file back at the next start
        workers.stop()
        for work in BACKGROUND_WORKERS:
            work.wait_idle(max(0.0, deadline - time.monotonic()))


def _resume_work(**kwargs: Any) -> None:
    """What waits for a model goes on, or learns why it cannot."""
    enqueue_reconciliation()


def _return_freed_memory(stop_event: threading.Event) -> None:
    """Have glibc give freed memory back now and then; without effect on other C libraries.

    By itself it keeps what large documents needed for a moment, in a heap for each thread: a
    gigabyte after a few dozen files.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while malloc_trim is not None and not stop_event.wait(MEMORY_TRIM_SECONDS):
        malloc_trim(0)
