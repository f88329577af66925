"""The relationships of concepts, their types, and pairs of concepts that may have one."""

from typing import Unpack

from strata_client._async.connection import AsyncMethods
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


class AsyncRelationships(AsyncMethods):
    """The relationships of any index whose spec enables concepts.

    A method raises ``NotFound`` if there is no index of the given name, or nothing with a given id.
    """

    async def list(
        self, index: str, **options: Unpack[RelationshipListOptions]
    ) -> RelationshipList:
        """Return the relationships of an index."""
        return await self._connection.read("indexes/{}/relationships/", index, **options)

    async def get(self, relationship_id: str) -> Relationship:
        """Return a relationship."""
        return await self._connection.read("relationships/{}/", relationship_id)

    async def create(self, index: str, source: str, type: str, target: str) -> Relationship:
        """Relate two concepts, all by their ids; return the relationship that exists, if it does.

        Raises:
            InvalidRequest: they are not of this index, or the concepts are the same.
        """
        return await self._connection.post(
            "indexes/{}/relationships/",
            index,
            is_idempotent=True,
            source=source,
            type=type,
            target=target,
        )

    async def delete(self, relationship_id: str) -> None:
        """Delete a relationship."""
        await self._connection.send("DELETE", "relationships/{}/", relationship_id)

    # --- Types -------------------------------------------------------------------------------

    async def types(
        self, index: str, *, category: str | None = None, **options: Unpack[ListOptions]
    ) -> RelationshipTypeList:
        """Return the relationship types of an index, by name."""
        return await self._connection.read(
            "indexes/{}/relationship-types/", index, category=category, **options
        )

    async def type(self, type_id: str) -> RelationshipType:
        """Return a relationship type."""
        return await self._connection.read("relationship-types/{}/", type_id)

    async def create_type(
        self, index: str, name: str, **options: Unpack[RelationshipTypeOptions]
    ) -> RelationshipType:
        """Add a relationship type; searches find it once it is embedded.

        Raises:
            Conflict: the index has a type of this name.
        """
        return await self._connection.post(
            "indexes/{}/relationship-types/", index, name=name, **options
        )

    async def update_type(
        self, type_id: str, *, name: str | None = None, **options: Unpack[RelationshipTypeOptions]
    ) -> RelationshipType:
        """Change what is given.

        Raises:
            Conflict: the index has another type of this name.
        """
        return await self._connection.patch("relationship-types/{}/", type_id, name=name, **options)

    async def delete_type(self, type_id: str) -> Deletion:
        """Delete a relationship type with every relationship of it."""
        return await self._connection.fetch("DELETE", "relationship-types/{}/", type_id)

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
            "emergent/{}/accept", pair_id, type=type, reversed=reversed
        )

    async def dismiss(self, pair_id: str) -> EmergentPair:
        """Remove a pair from the open pairs."""
        return await self._connection.fetch(
            "POST", "emergent/{}/dismiss", pair_id, is_idempotent=True
        )
