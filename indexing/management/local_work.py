"""Ensure that background work is done while a command runs: by the server, by Celery or here."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from core.running_server import find_server
from core.workers import local_workers
from indexing.stores.ownership import exclusive_store_access, has_embedded_store
from indexing.tasks import enqueue_reconciliation


@contextmanager
def ensure_workers() -> Iterator[None]:
    """Ensure that workers run until the block ends: those of the server or of Celery, or in
    embedded mode without a server, workers of this process."""
    server = find_server()
    with ExitStack() as stack:
        if server is None and has_embedded_store():
            stack.enter_context(exclusive_store_access())
            stack.enter_context(local_workers())
        yield


def trigger_reconciliation() -> None:
    """Make the workers look for work now instead of at the next periodic reconciliation."""
    server = find_server()
    if server is not None:
        server.reconcile()
        return
    enqueue_reconciliation()
