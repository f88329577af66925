"""Create and embed nodes again."""

from collections.abc import AsyncGenerator
from time import monotonic
from typing import Unpack
from urllib.parse import quote

from strata_client._async.connection import AsyncConnection
from strata_client._async.polling import poll
from strata_client.bodies import omit_none
from strata_client.types import Regeneration, RegenerationList, RegenerationOptions


class AsyncRegenerations:
    """Every method raises ``AccessDenied`` without a key that has the scope ``manage`` and sees all
    documents."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def start(self, **options: Unpack[RegenerationOptions]) -> Regeneration:
        """Start a regeneration; return the same one if it still waits.

        Raises:
            NotFound: there is no index of this name.
            InvalidRequest: there is no such type; ``allowed`` lists them.
        """
        return await self._connection.post("regenerate/", omit_none(options), is_idempotent=False)

    async def get(self, regeneration_id: str) -> Regeneration:
        """Return a regeneration with its progress.

        Raises:
            NotFound: there is no regeneration with this id.
        """
        return await self._connection.read(_path(regeneration_id))

    async def list(
        self, *, limit: int | None = None, offset: int | None = None
    ) -> RegenerationList:
        """Return regenerations, newest first."""
        return await self._connection.read("regenerate/", limit=limit, offset=offset)

    def follow(
        self, regeneration_id: str, *, timeout: float = 3_600.0
    ) -> AsyncGenerator[Regeneration, None]:
        """Yield the regeneration whenever its progress has changed, until it and all the work that
        it caused have ended.

        Raises:
            NotFound: there is no regeneration with this id.
            NotReady: it has not ended after ``timeout`` seconds; it continues.
        """
        deadline = monotonic() + timeout
        return poll(self._connection, _path(regeneration_id), _has_ended, deadline)

    async def wait(self, regeneration_id: str, *, timeout: float = 3_600.0) -> Regeneration:
        """Wait until a regeneration has ended and return it; its ``state`` may be ``failed``.

        Raises:
            NotFound: there is no regeneration with this id.
            NotReady: it has not ended after ``timeout`` seconds; it continues.
        """
        async for regeneration in self.follow(regeneration_id, timeout=timeout):
            last = regeneration
        return last

    async def cancel(self, regeneration_id: str) -> Regeneration:
        """Cancel a regeneration; work that is due already is completed.

        Raises:
            NotFound: there is no regeneration with this id.
        """
        return await self._connection.post(
            f"{_path(regeneration_id)}cancel", None, is_idempotent=True
        )


def _path(regeneration_id: str) -> str:
    return f"regenerate/{quote(regeneration_id, safe='')}/"


def _has_ended(regeneration: Regeneration) -> bool:
    return regeneration["is_synced"]
