"""Indexes and API keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack, overload

from strata_client._async.connection import AsyncMethods
from strata_client.types import (
    Index,
    IndexRemoval,
    IndexVerification,
    Key,
    NewKey,
    Regeneration,
    RegenerationOptions,
    Scope,
    VerificationReport,
)


class AsyncIndexes(AsyncMethods):
    """The methods of the client that are about indexes and keys.

    A method raises ``NotFound`` if there is no index of the given name.
    """

    async def indexes(self) -> list[Index]:
        """Return the indexes that the key may read."""
        return (await self._connection.read("indexes/"))["results"]

    async def index(self, name: str) -> Index:
        """Return an index with its progress."""
        return await self._connection.read("indexes/{}/", name)

    async def delete_index(self, index: str, *, confirm: str) -> IndexRemoval:
        """Remove an index with its documents and builds; needs a key with the scope ``manage``.

        Args:
            index: the name of the index.
            confirm: the same name again.
        """
        return await self._connection.fetch(
            "DELETE", "indexes/{}/", index, params={"confirm": confirm}
        )

    @overload
    async def verify(self, index: str, *, repair: bool = ...) -> IndexVerification: ...

    @overload
    async def verify(self, *, repair: bool = ...) -> list[VerificationReport]: ...

    async def verify(
        self, index: str | None = None, *, repair: bool = False
    ) -> IndexVerification | list[VerificationReport]:
        """Compare documents, ledger and vectors of an index; without a name, of every index.

        Takes time and memory in proportion to the index: give the client a longer ``timeout``.
        Needs a key with the scope ``manage``.

        Args:
            repair: repair or remove everything that differs.

        Raises:
            AccessDenied: the key lacks the scope, or does not see all documents.
        """
        named = ["verify/"] if index is None else ["indexes/{}/verify/", index]
        report = await self._connection.post(*named, is_idempotent=not repair, repair=repair)
        return report["reports"] if index is None else report

    async def regenerate(self, **options: Unpack[RegenerationOptions]) -> Regeneration:
        """Make and embed nodes again, in the background; return what is due. ``index`` shows what
        is left. Needs a key with the scope ``manage`` that sees all documents.

        Raises:
            InvalidRequest: there is no such type; ``allowed`` lists them.
        """
        return await self._connection.post("regenerate/", **options)

    # --- Keys --------------------------------------------------------------------------------

    async def keys(self) -> list[Key]:
        """Return the API keys that see no more than this client's, newest first. This and the
        methods below need a key with the scope ``manage``."""
        return (await self._connection.read("keys/"))["results"]

    async def create_key(
        self,
        name: str,
        *,
        scope: Scope = "search",
        indexes: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make an API key. Its ``secret`` is only in this answer.

        Args:
            name: no other active key may have it.
            scope: ``manage`` includes ``write``, and ``write`` includes ``search``.
            indexes: names of indexes, which need not exist yet; by default this key's.
            groups: groups whose documents it sees, beside those without groups; by default this
                key's.
            expires_at: with a time zone; by default when this key does.
        """
        return await self._connection.post(
            "keys/",
            name=name,
            scope=scope,
            indexes=indexes if indexes is None else list(indexes),
            groups=groups if groups is None else list(groups),
            expires_at=expires_at and expires_at.isoformat(),
        )

    async def revoke_key(self, key_id: int) -> Key:
        """Revoke an API key; the next request with it is refused."""
        return await self._connection.fetch("DELETE", "keys/{}/", key_id)
