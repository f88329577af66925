"""Embedded mode: run the background workers and the web server in this process, which owns the
vector engine.

``serve`` runs it beside the web server; commands run it by themselves when no server does.
"""

import ctypes
import logging
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import waitress
from celery import beat
from celery.worker import state as worker_state
from django.conf import settings
from waitress.server import BaseWSGIServer

from concepts import extraction as concepts
from config import asgi, wsgi
from config.background_workers import BACKGROUND_WORKERS
from config.celery import QUEUES, app
from config.stream_server import StreamServer, make_channel_class
from documents import services as documents
from documents.parsing import close_child_processes
from indexing import regeneration
from indexing import services as indexing
from indexing.tasks import enqueue_reconciliation
from summaries import services as summaries
from webhooks import services as webhooks

logger = logging.getLogger(__name__)

WEB_THREADS = 8  # requests worked on at once; more wait
MAX_BODY_BYTES = 16 * 2**30  # of a batch; the views bound everything else
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
    documents.release_parse_leases()
    indexing.release_all_leases()
    regeneration.release_all_leases()
    summaries.release_all_leases()
    concepts.release_all_leases()
    webhooks.release_all_leases()
    for work in BACKGROUND_WORKERS:
        work.stop_requested.clear()
    workers = InProcessCelery()
    workers.start()
    stop_event = threading.Event()
    threading.Thread(target=_return_freed_memory, args=[stop_event], daemon=True).start()
    enqueue_reconciliation()
    try:
        yield
    finally:
        stop_event.set()
        for work in BACKGROUND_WORKERS:
            work.stop_requested.set()
        deadline = time.monotonic() + DRAIN_SECONDS
        close_child_processes()  # a parser at work gives its file back at the next start
        workers.stop()
        for work in BACKGROUND_WORKERS:
            work.wait_idle(max(0.0, deadline - time.monotonic()))


def _return_freed_memory(stop_event: threading.Event) -> None:
    """Have glibc give freed memory back now and then; without effect on other C libraries.

    By itself it keeps what large documents needed for a moment, in a heap for each thread: a
    gigabyte after a few dozen files.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while malloc_trim is not None and not stop_event.wait(MEMORY_TRIM_SECONDS):
        malloc_trim(0)


@contextmanager
def run_web_server(host: str, port: int) -> Iterator[None]:
    """The web server, in threads of this process, until the block ends.

    Raises:
        OSError: it cannot listen there.
    """
    # A request's body is read to its end before a thread takes it up; a large one waits on disk.
    tempfile.tempdir = str(settings.FILE_UPLOAD_TEMP_DIR)
    streams = StreamServer(asgi.application)
    dispatchers: dict[int, Any] = {}  # descriptor -> what answers for it
    server = waitress.create_server(
        wsgi.application,
        map=dispatchers,
        host=host,
        port=port,
        threads=WEB_THREADS,
        max_request_body_size=MAX_BODY_BYTES,
        ident="strata",
    )
    for listener in dispatchers.values():
        if isinstance(listener, BaseWSGIServer):  # one for each address of the host
            listener.channel_class = make_channel_class(streams)
    streams.start()
    threading.Thread(target=server.run, name="web", daemon=True).start()
    try:
        yield
    finally:
        server.close()
        server.task_dispatcher.shutdown(cancel_pending=True, timeout=2)
        streams.stop()
