"""Having work done while a command runs: by the running server, by the workers, or here."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kombu.exceptions import OperationalError as BrokerError

from core.local_workers import local_workers
from core.running_server import find_server
from indexing.stores.ownership import is_embedded, owning_store
from indexing.tasks import wake_sweeps

logger = logging.getLogger(__name__)


@contextmanager
def work_at_hand() -> Iterator[None]:
    """The work is done until the block ends: by the running server or the workers, who are told
    to look, or by this process where the embedded form is not running."""
    server = find_server()
    with ExitStack() as stack:
        if server is None and is_embedded():
            stack.enter_context(owning_store())
            stack.enter_context(local_workers())
        yield


def nudge() -> None:
    """Have whoever does the work look now, and not within a minute."""
    server = find_server()
    if server is not None:
        server.reconcile()
        return
    try:
        wake_sweeps()
    except BrokerError:
        logger.warning("The broker is away; the work begins within a minute of its return")
