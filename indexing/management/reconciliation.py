"""Commands wake the workers."""

from core.running_server import find_server
from indexing.tasks import enqueue_reconciliation


def trigger_reconciliation() -> None:
    """Make the workers look for work now instead of at the next periodic reconciliation."""
    server = find_server()
    if server is not None:
        server.reconcile()
    else:
        enqueue_reconciliation()
