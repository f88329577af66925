# Made of client/src/strata_client/_async/polling.py by `make client`: edit that.
"""Read something again and again until it has ended."""

from collections.abc import Callable, Generator
from time import monotonic, sleep
from typing import Any

from strata_client._sync.connection import Connection
from strata_client.exceptions import NotReady

FIRST_POLL_SECONDS = 0.1  # first pause between two reads; later ones are longer
MAX_POLL_SECONDS = 2.0


def poll(
    connection: Connection, path: str, has_ended: Callable[[Any], bool], deadline: float
) -> Generator[Any, None]:
    """Yield the JSON at a path whenever it has changed, until it has ended.

    ``deadline``: on the monotonic clock.

    Raises:
        NotReady: it has not ended by then; its ``code`` is ``not_ready``.
    """
    pause = FIRST_POLL_SECONDS
    last: Any = None
    while True:
        now = connection.read(path)
        if now != last:
            last = now
            yield now
        if has_ended(now):
            return
        left = deadline - monotonic()
        if left <= 0:
            state = now.get("state") or now["status"]
            raise NotReady(f"{now['id']} is still {state}.", code="not_ready")
        sleep(min(pause, left))
        pause = min(pause * 1.5, MAX_POLL_SECONDS)
