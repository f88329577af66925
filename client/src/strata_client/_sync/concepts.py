# Made of client/src/strata_client/_async/concepts.py by `make client`: edit that.
"""The concepts of an index, and the quotes that support them."""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from strata_client._sync.connection import Connection
from strata_client.bodies import omit_none
from strata_client.types import (
    Concept,
    ConceptContextAnswer,
    ConceptEvidenceAnswer,
    ConceptList,
    Deletion,
    Instance,
    InstanceList,
    PathsAnswer,
)


class Concepts:
    """The concepts of any index whose spec enables them.

    A method that takes the id of a concept raises ``NotFound`` if there is none with this id.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        index: str,
        *,
        label: str | None = None,
        evidence: Literal["none", "some"] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> ConceptList:
        """Return the concepts of an index, by label.

        Args:
            label: a part of the label, in any case.
            evidence: only concepts without quotes, or only those with some.

        Raises:
            NotFound: there is no index of this name.
        """
        return self._connection.read(
            f"indexes/{quote(index, safe='')}/concepts/",
            label=label,
            evidence=evidence,
            limit=limit,
            offset=offset,
        )

    def get(self, concept_id: str) -> Concept:
        """Return a concept."""
        return self._connection.read(_path(concept_id))

    def create(
        self,
        index: str,
        label: str,
        *,
        description: str | None = None,
        search_terms: Sequence[str] | None = None,
    ) -> Concept:
        """Add a concept; searches find it once it is embedded.

        Raises:
            NotFound: there is no index of this name.
            Conflict: the index has a concept with this label.
            InvalidRequest: the index holds no concepts, or a value is not allowed.
        """
        body = {
            "label": label,
            "description": description,
            "search_terms": None if search_terms is None else [*search_terms],
        }
        return self._connection.post(
            f"indexes/{quote(index, safe='')}/concepts/", omit_none(body), is_idempotent=False
        )

    def update(
        self,
        concept_id: str,
        *,
        label: str | None = None,
        description: str | None = None,
        search_terms: Sequence[str] | None = None,
    ) -> Concept:
        """Change what is given.

        Raises:
            Conflict: the index has another concept with this label.
        """
        changes = {
            "label": label,
            "description": description,
            "search_terms": None if search_terms is None else [*search_terms],
        }
        return self._connection.fetch(
            "PATCH", _path(concept_id), is_idempotent=True, json=omit_none(changes)
        )

    def delete(self, concept_id: str) -> Deletion:
        """Delete a concept with its quotes and relationships."""
        return self._connection.fetch("DELETE", _path(concept_id), is_idempotent=False)

    def merge(self, concept_id: str, others: Sequence[str]) -> Concept:
        """Merge other concepts, by their ids, into this one, with their quotes and relationships.

        Raises:
            InvalidRequest: a concept is of another index, or is this one.
        """
        return self._connection.post(
            f"{_path(concept_id)}merge", {"concepts": [*others]}, is_idempotent=False
        )

    # --- Quotes ------------------------------------------------------------------------------

    def quotes(
        self, concept_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> InstanceList:
        """Return the quotes of a concept, with those that its documents no longer contain."""
        return self._connection.read(f"{_path(concept_id)}instances/", limit=limit, offset=offset)

    def add_quote(
        self,
        concept_id: str,
        text: str,
        *,
        source: str | None = None,
        artifact: str | None = None,
    ) -> Instance:
        """Quote a text as evidence of a concept; return the quote that exists, if it does.

        Args:
            source, artifact: the id of the source that contains the text, or of its artifact.

        Raises:
            InvalidRequest: the document does not contain the text, or neither id is given.
            NotFound: there is no such source or artifact.
        """
        return self._connection.post(
            f"{_path(concept_id)}instances/",
            omit_none({"quote": text, "source": source, "artifact": artifact}),
            is_idempotent=True,
        )

    def delete_quote(self, quote_id: str) -> None:
        """Delete a quote; the document stays.

        Raises:
            NotFound: there is no quote with this id.
        """
        self._connection.send(
            "DELETE", f"instances/{quote(quote_id, safe='')}/", is_idempotent=False
        )

    # --- What the documents say about a concept ----------------------------------------------

    def evidence(
        self,
        concept_id: str,
        query: str | None = None,
        *,
        limit: int | None = None,
        offset: int | None = None,
    ) -> ConceptEvidenceAnswer:
        """Return the quotes of a concept that its documents contain, those nearest to ``query``
        first."""
        return self._connection.post(
            f"{_path(concept_id)}evidence",
            omit_none({"query": query, "limit": limit, "offset": offset}),
            is_idempotent=True,
        )

    def context(
        self,
        concept_id: str,
        *,
        window: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> ConceptContextAnswer:
        """Return the sources that quote a concept.

        Args:
            window: neighbours on each side, 0 to 10.
        """
        return self._connection.read(
            f"{_path(concept_id)}context", window=window, limit=limit, offset=offset
        )

    def paths(
        self,
        concept_id: str,
        like: str | Sequence[str],
        *,
        depth: int | None = None,
        limit: int | None = None,
        min_similarity: float | None = None,
    ) -> PathsAnswer:
        """Return chains of relationships from a concept.

        Args:
            like: one to ten words that the types of the relationships are to be similar to.
            depth: relationships in a chain, 1 to 3.

        Raises:
            InvalidRequest: a value is not allowed.
        """
        return self._connection.read(
            f"{_path(concept_id)}paths",
            like=like if isinstance(like, str) else ",".join(like),
            depth=depth,
            limit=limit,
            min_similarity=min_similarity,
        )


def _path(concept_id: str) -> str:
    return f"concepts/{quote(concept_id, safe='')}/"
