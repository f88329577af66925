"""The concepts of an index, and the quotes that support them."""

from collections.abc import Sequence
from typing import Unpack
from urllib.parse import quote

from strata_client._async.connection import AsyncConnection
from strata_client.bodies import omit_none
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
)


class AsyncConcepts:
    """The concepts of any index whose spec enables them.

    A method raises ``NotFound`` if there is no index of the given name, or nothing with a given id.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def list(self, index: str, **options: Unpack[ConceptListOptions]) -> ConceptList:
        """Return the concepts of an index, by label."""
        return await self._connection.read(f"indexes/{quote(index, safe='')}/concepts/", **options)

    async def get(self, concept_id: str) -> Concept:
        """Return a concept."""
        return await self._connection.read(_path(concept_id))

    async def create(self, index: str, label: str, **options: Unpack[ConceptOptions]) -> Concept:
        """Add a concept; searches find it once it is embedded.

        Raises:
            Conflict: the index has a concept with this label.
            InvalidRequest: the index holds no concepts, or a value is not allowed.
        """
        body = omit_none({"label": label, **options})
        return await self._connection.post(
            f"indexes/{quote(index, safe='')}/concepts/", body, is_idempotent=False
        )

    async def update(
        self, concept_id: str, *, label: str | None = None, **options: Unpack[ConceptOptions]
    ) -> Concept:
        """Change what is given.

        Raises:
            Conflict: the index has another concept with this label.
        """
        changes = omit_none({"label": label, **options})
        return await self._connection.fetch(
            "PATCH", _path(concept_id), is_idempotent=True, json=changes
        )

    async def delete(self, concept_id: str) -> Deletion:
        """Delete a concept with its quotes and relationships."""
        return await self._connection.fetch("DELETE", _path(concept_id), is_idempotent=False)

    async def merge(self, concept_id: str, others: Sequence[str]) -> Concept:
        """Merge other concepts, by their ids, into this one, with their quotes and relationships.

        Raises:
            InvalidRequest: a concept is of another index, or is this one.
        """
        return await self._connection.post(
            f"{_path(concept_id)}merge", {"concepts": [*others]}, is_idempotent=False
        )

    # --- Quotes ------------------------------------------------------------------------------

    async def quotes(self, concept_id: str, **options: Unpack[ListOptions]) -> InstanceList:
        """Return the quotes of a concept, with those that its documents no longer contain."""
        return await self._connection.read(f"{_path(concept_id)}instances/", **options)

    async def add_quote(
        self, concept_id: str, text: str, *, source: str | None = None, artifact: str | None = None
    ) -> Instance:
        """Quote a text as evidence of a concept; return the quote that exists, if it does.

        Args:
            source, artifact: the id of the source that contains the text, or of its artifact.

        Raises:
            InvalidRequest: the document does not contain the text, or neither id is given.
        """
        return await self._connection.post(
            f"{_path(concept_id)}instances/",
            omit_none({"quote": text, "source": source, "artifact": artifact}),
            is_idempotent=True,
        )

    async def delete_quote(self, quote_id: str) -> None:
        """Delete a quote; the document stays."""
        await self._connection.send(
            "DELETE", f"instances/{quote(quote_id, safe='')}/", is_idempotent=False
        )

    # --- What the documents say about a concept ----------------------------------------------

    async def evidence(
        self, concept_id: str, query: str | None = None, **options: Unpack[ListOptions]
    ) -> ConceptEvidenceAnswer:
        """Return the quotes of a concept that its documents contain, those nearest to ``query``
        first."""
        return await self._connection.post(
            f"{_path(concept_id)}evidence",
            omit_none({"query": query, **options}),
            is_idempotent=True,
        )

    async def context(
        self, concept_id: str, *, window: int | None = None, **options: Unpack[ListOptions]
    ) -> ConceptContextAnswer:
        """Return the sources that quote a concept.

        Args:
            window: neighbours on each side, 0 to 10.
        """
        return await self._connection.read(f"{_path(concept_id)}context", window=window, **options)

    async def paths(
        self, concept_id: str, like: str | Sequence[str], **options: Unpack[PathsOptions]
    ) -> PathsAnswer:
        """Return chains of relationships from a concept.

        Args:
            like: one to ten words that the types of the relationships are to be similar to.

        Raises:
            InvalidRequest: a value is not allowed.
        """
        return await self._connection.read(
            f"{_path(concept_id)}paths",
            like=like if isinstance(like, str) else ",".join(like),
            **options,
        )


def _path(concept_id: str) -> str:
    return f"concepts/{quote(concept_id, safe='')}/"
