"""Read something again and again until it has ended."""

from asyncio import sleep
from collections.abc import AsyncGenerator, Callable
from time import monotonic
from typing import Any

from strata_client._async.connection import AsyncConnection
from strata_client.exceptions import NotReady

FIRST_POLL_SECONDS = 0.1  # first pause between two reads; later ones are longer
MAX_POLL_SECONDS = 2.0


async def poll(
    connection: AsyncConnection,
    path: str,
    id: str,
    has_ended: Callable[[Any], bool],
    deadline: float,
) -> AsyncGenerator[Any, None]:
    """Yield the JSON at the path of an id whenever it has changed, until it has ended.

    ``deadline``: on the monotonic clock.

    Raises:
        NotReady: it has not ended by then; its ``code`` is ``not_ready``.
    """
    pause = FIRST_POLL_SECONDS
    last: Any = None
    while True:
        now = await connection.read(path, id)
        if now != last:
            last = now
            yield now
        if has_ended(now):
            return
        left = deadline - monotonic()
        if left <= 0:
            state = now.get("state") or now["status"]
            raise NotReady(f"{now['id']} is still {state}.", code="not_ready")
        await sleep(min(pause, left))
        pause = min(pause * 1.5, MAX_POLL_SECONDS)
