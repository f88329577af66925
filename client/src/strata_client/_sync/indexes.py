# Made of client/src/strata_client/_async/indexes.py by `make client`: edit that.
"""Indexes, and the keys that open them."""

from collections.abc import Sequence
from datetime import datetime
from typing import overload
from urllib.parse import quote

from strata_client._sync.connection import Connection, read_json
from strata_client.bodies import omit_none
from strata_client.types import (
    Index,
    IndexRemoval,
    IndexVerification,
    Key,
    NewKey,
    Scope,
    VerificationReport,
)


class Indexes:
    """The methods of the client that are about indexes and keys."""

    _connection: Connection

    def indexes(self) -> list[Index]:
        """Return the indexes that the key may read."""
        answer: dict[str, list[Index]] = self._connection.read("indexes/")
        return answer["results"]

    def index(self, name: str) -> Index:
        """Return an index with its progress.

        Raises:
            NotFound: there is no index of this name.
        """
        index: Index = self._connection.read(f"indexes/{quote(name, safe='')}/")
        return index

    def delete_index(self, index: str, *, confirm: str) -> IndexRemoval:
        """Remove an index with its documents and builds; needs a key with the scope ``manage``.

        Args:
            index: the name of the index.
            confirm: the same name again.
        """
        response = self._connection.send(
            "DELETE",
            f"indexes/{quote(index, safe='')}/",
            params={"confirm": confirm},
            is_idempotent=False,
        )
        removal: IndexRemoval = read_json(response)
        return removal

    @overload
    def verify(self, index: str, *, repair: bool = ...) -> IndexVerification: ...

    @overload
    def verify(self, *, repair: bool = ...) -> list[VerificationReport]: ...

    def verify(
        self, index: str | None = None, *, repair: bool = False
    ) -> IndexVerification | list[VerificationReport]:
        """Compare documents, ledger and vectors of an index; without a name, of every index.

        Takes time and memory in proportion to the index: give the client a longer ``timeout``.
        Needs a key with the scope ``manage``.

        Args:
            repair: repair or remove everything that differs.

        Raises:
            NotFound: there is no index of this name.
            AccessDenied: the key lacks the scope, or does not see all documents.
        """
        path = "verify/" if index is None else f"indexes/{quote(index, safe='')}/verify/"
        response = self._connection.send(
            "POST", path, is_idempotent=not repair, json={"repair": repair}
        )
        if index is None:
            reports: list[VerificationReport] = read_json(response)["reports"]
            return reports
        report: IndexVerification = read_json(response)
        return report

    # --- Keys --------------------------------------------------------------------------------

    def keys(self) -> list[Key]:
        """The API keys that see no more than this client's, newest first. As the methods below, it
        needs a key with the scope ``manage``."""
        response = self._connection.send("GET", "keys/", is_idempotent=True)
        keys: list[Key] = read_json(response)["results"]
        return keys

    def create_key(
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
            expires_at: with a time zone; by default as this key.
        """
        body = omit_none(
            {
                "name": name,
                "scope": scope,
                "indexes": indexes if indexes is None else list(indexes),
                "groups": groups if groups is None else list(groups),
                "expires_at": expires_at and expires_at.isoformat(),
            }
        )
        response = self._connection.send("POST", "keys/", json=body, is_idempotent=False)
        key: NewKey = read_json(response)
        return key

    def revoke_key(self, key_id: int) -> Key:
        """Revoke an API key; the next request with it is refused."""
        response = self._connection.send("DELETE", f"keys/{int(key_id)}/", is_idempotent=False)
        key: Key = read_json(response)
        return key
