"""Add a research agent's findings without duplicates, and search them."""

from collections.abc import Iterable, Sequence
from typing import Unpack

from strata_client._async.connection import AsyncMethods
from strata_client.bodies import split_evidence
from strata_client.types import EvidenceHit, EvidenceItem, EvidenceSearchOptions, EvidenceVerdict


class AsyncEvidence(AsyncMethods):
    """The findings of any index that keeps them."""

    async def add(
        self,
        index: str,
        items: EvidenceItem | Iterable[EvidenceItem],
        *,
        threshold: float | None = None,
    ) -> list[EvidenceVerdict]:
        """Add findings; return a verdict for each, in order. They are also compared to each other.

        An item whose similarity to a stored one is at least ``threshold`` (0 to 1; by default the
        index's own), and that has the same words, is a ``duplicate``, kept as its reference. One
        near it with other words is ``added``, unless the index compares by similarity alone;
        ``similar_to`` names the stored one. With a known url
        and new content it is ``updated``. An invalid item is ``rejected`` with its
        ``error``; if all items of a request are, the request raises.

        The items are sent in requests of 100. After an error a request has stored nothing. It is
        retried only if the server asks for it or was not reached: otherwise items stored by the
        first attempt would be reported as duplicates.
        """
        verdicts: list[EvidenceVerdict] = []
        for batch in split_evidence(items):
            answer = await self._connection.post(
                "indexes/{}/evidence/", index, items=batch, threshold=threshold
            )
            verdicts += answer["verdicts"]
        return verdicts

    async def similar(
        self, index: str, query: str, **options: Unpack[EvidenceSearchOptions]
    ) -> list[EvidenceHit]:
        """Return the stored findings nearest to a text, nearest first; empty if there is none.

        With the ``min_revision`` of a verdict, the search waits up to 5 s for it and raises
        ``Conflict`` if it is not searchable by then.
        """
        answer = await self._connection.read(
            "indexes/{}/evidence/similar", index, q=query, **options
        )
        return answer["hits"]

    async def related(
        self,
        index: str,
        query: str,
        *,
        urls: Sequence[str],
        **options: Unpack[EvidenceSearchOptions],
    ) -> list[EvidenceHit]:
        """Return the findings nearest to a text, without those of these urls.

        A finding that nearly repeats a better one, which names it in ``similar_to``, is returned
        only if fewer than ``limit`` others have half the score of the best.
        """
        answer = await self._connection.post(
            "indexes/{}/evidence/related",
            index,
            is_idempotent=True,
            query=query,
            urls=list(urls),
            **options,
        )
        return answer["hits"]
