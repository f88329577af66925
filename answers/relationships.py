"""What an answer without a language model says of the relationships that passages quote."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import strata_types
from answers.citing import make_citation
from retrieval.passages import QuotedRelationship

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder

MAX_STATED: Final = 2


def select_named(
    query: str, relationships: Sequence[QuotedRelationship], encoder: "Bm25Encoder"
) -> list[QuotedRelationship]:
    """The relationships that answer a query by themselves: it names two of their three parts."""
    counts = [each.count_named_parts(query, encoder) for each in relationships]
    ranked = sorted(zip(counts, relationships, strict=True), key=lambda each: -each[0])
    return [each for count, each in ranked if count >= 2][:MAX_STATED]


def state_relationship(
    relationship: QuotedRelationship, start: int
) -> tuple[str, list[strata_types.Citation]]:
    """The relationship in words, with its quotes and their marks, and a citation of each; ``start``
    is its position in the answer."""
    text = f"{relationship.statement}:"
    citations: list[strata_types.Citation] = []
    for quote in relationship.quotes:
        cited_from = start if not citations else start + len(text) + 1
        text += f' "{quote.words}"'
        end = start + len(text)
        cited = make_citation(quote.context, quote.sentence, cited_from, end, is_supported=True)
        citations.append(cited)
        text += f" [{quote.context.number}]"
    return text, citations
