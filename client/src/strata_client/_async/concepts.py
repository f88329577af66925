"""The concepts of an index, and the quotes that support them."""

from collections.abc import Sequence
from typing import Unpack

from strata_client._async.connection import AsyncMethods
from strata_client.types import (
    Concept,
    ConceptContextAnswer,
    ConceptEvidenceAnswer,
    ConceptList,
    ConceptListOptions,
    ConceptOptions,
    Deletion,
    Instance,
    InstanceList,
    ListOptions,
    PathsAnswer,
    PathsOptions,
    SharedAnswer,
)


class AsyncConcepts(AsyncMethods):
    """The concepts of any index whose spec enables them.

    A method raises ``NotFound`` if there is no index of the given name, or nothing with a given id,
    and ``InvalidRequest`` if a value is not allowed.
    """

    async def list(self, index: str, **options: Unpack[ConceptListOptions]) -> ConceptList:
        """Return the concepts of an index, by label."""
        return await self._connection.read("indexes/{}/concepts/", index, **options)

    async def get(self, concept_id: str) -> Concept:
        """Return a concept."""
        return await self._connection.read("concepts/{}/", concept_id)

    async def create(self, index: str, label: str, **options: Unpack[ConceptOptions]) -> Concept:
        """Add a concept; searches find it once it is embedded.

        Raises:
            Conflict: the index has a concept with this label.
            InvalidRequest: the index holds no concepts, or a value is not allowed.
        """
        return await self._connection.post("indexes/{}/concepts/", index, label=label, **options)

    async def update(
        self, concept_id: str, *, label: str | None = None, **options: Unpack[ConceptOptions]
    ) -> Concept:
        """Change what is given.

        Raises:
            Conflict: the index has another concept with this label.
        """
        return await self._connection.patch("concepts/{}/", concept_id, label=label, **options)

    async def delete(self, concept_id: str) -> Deletion:
        """Delete a concept with its quotes and relationships."""
        return await self._connection.fetch("DELETE", "concepts/{}/", concept_id)

    async def merge(self, concept_id: str, others: Sequence[str]) -> Concept:
        """Merge other concepts, by their ids, into this one, with their quotes and relationships.

        Raises:
            InvalidRequest: a concept is of another index, or is this one.
        """
        return await self._connection.post("concepts/{}/merge", concept_id, concepts=[*others])

    # --- Quotes ------------------------------------------------------------------------------

    async def quotes(self, concept_id: str, **options: Unpack[ListOptions]) -> InstanceList:
        """Return the quotes of a concept, with those that its documents no longer contain."""
        return await self._connection.read("concepts/{}/instances/", concept_id, **options)

    async def add_quote(
        self, concept_id: str, text: str, *, source: str | None = None, artifact: str | None = None
    ) -> Instance:
        """Add a quote of a concept; return the quote that exists, if it does.

        Args:
            source, artifact: the id of the source that contains the text, or of its artifact.

        Raises:
            InvalidRequest: the document does not contain the text, or neither id is given.
        """
        return await self._connection.post(
            "concepts/{}/instances/",
            concept_id,
            is_idempotent=True,
            quote=text,
            source=source,
            artifact=artifact,
        )

    async def delete_quote(self, quote_id: str) -> None:
        """Delete a quote; the document stays."""
        await self._connection.send("DELETE", "instances/{}/", quote_id)

    # --- What the documents say about a concept ----------------------------------------------

    async def evidence(
        self, concept_id: str, query: str | None = None, **options: Unpack[ListOptions]
    ) -> ConceptEvidenceAnswer:
        """Return the quotes of a concept that its documents contain, those nearest to ``query``
        first."""
        return await self._connection.post(
            "concepts/{}/evidence", concept_id, is_idempotent=True, query=query, **options
        )

    async def context(
        self, concept_id: str, *, window: int | None = None, **options: Unpack[ListOptions]
    ) -> ConceptContextAnswer:
        """Return the sources that quote a concept.

        Args:
            window: neighbours on each side, 0 to 10.
        """
        return await self._connection.read(
            "concepts/{}/context", concept_id, window=window, **options
        )

    async def paths(
        self, concept_id: str, like: str | Sequence[str], **options: Unpack[PathsOptions]
    ) -> PathsAnswer:
        """Return chains of relationships from a concept.

        Args:
            like: one to ten words that the types of the relationships are to be similar to.
        """
        words = like if isinstance(like, str) else ",".join(like)
        return await self._connection.read("concepts/{}/paths", concept_id, like=words, **options)

    async def shared(self, concept_ids: Sequence[str], *, limit: int | None = None) -> SharedAnswer:
        """Return what two or more of these concepts share: relationships between them, other
        concepts that they are related to, and sources that quote them.

        Args:
            limit: of other concepts, and of sources.
        """
        return await self._connection.read(
            "concepts/shared", ids=",".join(concept_ids), limit=limit
        )
