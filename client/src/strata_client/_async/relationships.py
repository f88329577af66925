"""The relationships of concepts, their types, and pairs of concepts that may have one."""

from typing import Unpack
from urllib.parse import quote

from strata_client._async.connection import AsyncConnection
from strata_client.bodies import omit_none
from strata_client.types import (
    Deletion,
    EmergentOptions,
    EmergentPair,
    EmergentPairList,
    ListOptions,
    Relationship,
    RelationshipList,
    RelationshipListOptions,
    RelationshipType,
    RelationshipTypeList,
    RelationshipTypeOptions,
)


class AsyncRelationships:
    """The relationships of any index whose spec enables concepts.

    A method raises ``NotFound`` if there is no index of the given name, or nothing with a given id.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def list(
        self, index: str, **options: Unpack[RelationshipListOptions]
    ) -> RelationshipList:
        """Return the relationships of an index."""
        return await self._connection.read(
            f"indexes/{quote(index, safe='')}/relationships/", **options
        )

    async def get(self, relationship_id: str) -> Relationship:
        """Return a relationship."""
        return await self._connection.read(f"relationships/{quote(relationship_id, safe='')}/")

    async def create(self, index: str, source: str, type: str, target: str) -> Relationship:
        """Relate two concepts, all by their ids; return the relationship that exists, if it does.

        Raises:
            InvalidRequest: they are not of this index, or the concepts are the same.
        """
        return await self._connection.post(
            f"indexes/{quote(index, safe='')}/relationships/",
            {"source": source, "type": type, "target": target},
            is_idempotent=True,
        )

    async def delete(self, relationship_id: str) -> None:
        """Delete a relationship."""
        await self._connection.send(
            "DELETE", f"relationships/{quote(relationship_id, safe='')}/", is_idempotent=False
        )

    # --- Types -------------------------------------------------------------------------------

    async def types(
        self, index: str, *, category: str | None = None, **options: Unpack[ListOptions]
    ) -> RelationshipTypeList:
        """Return the relationship types of an index, by name."""
        return await self._connection.read(
            f"indexes/{quote(index, safe='')}/relationship-types/", category=category, **options
        )

    async def type(self, type_id: str) -> RelationshipType:
        """Return a relationship type."""
        return await self._connection.read(_type_path(type_id))

    async def create_type(
        self, index: str, name: str, **options: Unpack[RelationshipTypeOptions]
    ) -> RelationshipType:
        """Add a relationship type; searches find it once it is embedded.

        Raises:
            Conflict: the index has a type of this name.
        """
        body = omit_none({"name": name, **options})
        return await self._connection.post(
            f"indexes/{quote(index, safe='')}/relationship-types/", body, is_idempotent=False
        )

    async def update_type(
        self, type_id: str, *, name: str | None = None, **options: Unpack[RelationshipTypeOptions]
    ) -> RelationshipType:
        """Change what is given.

        Raises:
            Conflict: the index has another type of this name.
        """
        changes = omit_none({"name": name, **options})
        return await self._connection.fetch(
            "PATCH", _type_path(type_id), is_idempotent=True, json=changes
        )

    async def delete_type(self, type_id: str) -> Deletion:
        """Delete a relationship type with every relationship of it."""
        return await self._connection.fetch("DELETE", _type_path(type_id), is_idempotent=False)

    # --- Similar concepts without a relationship ---------------------------------------------

    async def emergent(self, index: str, **options: Unpack[EmergentOptions]) -> EmergentPairList:
        """Return pairs of similar concepts without a relationship, most similar first, each with
        the sources that bridge them.

        Raises:
            InvalidRequest: the index holds no concepts, or a value is not allowed.
        """
        return await self._connection.read("emergent", index=index, **options)

    async def accept(self, pair_id: str, type: str, *, reversed: bool = False) -> Relationship:
        """Relate the concepts of a pair; it is then no longer open.

        Args:
            type: the id of the relationship type.
            reversed: relate the second concept to the first.
        """
        return await self._connection.post(
            f"emergent/{quote(pair_id, safe='')}/accept",
            {"type": type, "reversed": reversed},
            is_idempotent=False,
        )

    async def dismiss(self, pair_id: str) -> EmergentPair:
        """Remove a pair from the open pairs."""
        return await self._connection.post(
            f"emergent/{quote(pair_id, safe='')}/dismiss", None, is_idempotent=True
        )


def _type_path(type_id: str) -> str:
    return f"relationship-types/{quote(type_id, safe='')}/"
