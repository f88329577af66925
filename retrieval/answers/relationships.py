"""Finds the relationships of the concepts that passages quote, and what an answer says of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

import strata_types
from access.grants import Grant
from concepts.models import Relationship, speak_name
from indexing.stores import get_bm25_encoder
from retrieval.answers.citing import make_citation
from concepts.knowledge.sources import find_quotes
from retrieval.passages import AnswerContext, Quote, QuotedRelationship
from text.quotable_sentences import LocatedSentence

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder

MAX_RELATIONSHIPS: Final = 10  # of an answer
MAX_STATED: Final = 2  # by an answer without a language model
_MAX_COMPARED: Final = 500  # relationships compared with the question


def find_quoted_relationships(
    query: str, contexts: Sequence[AnswerContext], grant: Grant
) -> list[QuotedRelationship]:
    """The visible relationships of the concepts that the contexts quote: those first of which the
    query names the most, then those whose two concepts are both quoted. Only quotes that a context
    holds at their offsets count."""
    contexts = [each for each in contexts if "concept" in each.passage.hit.spec.kinds]
    quotes = _find_quotes(contexts, grant)
    if not quotes:
        return []
    encoder = get_bm25_encoder(contexts[0].passage.hit.spec.sparse)
    edges = Relationship.objects.visible_to(grant).with_concepts_and_type()
    found = [
        QuotedRelationship(
            edge, tuple(quotes[end] for end in (edge.source_id, edge.target_id) if end in quotes)
        )
        for edge in edges.involving(quotes).inside_first(quotes)[:_MAX_COMPARED]
    ]
    # The sort is stable, so ties keep the order of the database.
    found.sort(key=lambda each: -_count_named_parts(query, each, encoder))
    return found[:MAX_RELATIONSHIPS]


def select_named(
    query: str, relationships: Sequence[QuotedRelationship], encoder: "Bm25Encoder"
) -> list[QuotedRelationship]:
    """The relationships that answer a query by themselves: it names two of their three parts."""
    counts = [_count_named_parts(query, each, encoder) for each in relationships]
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


def _find_quotes(contexts: Sequence[AnswerContext], grant: Grant) -> dict[UUID, Quote]:
    """Concept -> its first quote that a context holds."""
    by_source: dict[str, list[AnswerContext]] = {}
    for context in contexts:
        by_source.setdefault(str(context.passage.hit.payload["source_id"]), []).append(context)
    if not by_source:
        return {}
    found: dict[UUID, Quote] = {}
    rows = find_quotes([UUID(each) for each in by_source], grant)
    rows = rows.select_related("artifact", "source").order_by("start_offset", "pk")
    for instance in rows:
        for context in by_source[str(instance.source_id)]:
            start = instance.start_offset - context.passage.hit.payload["start_offset"]
            end = start + len(instance.quote)
            if start >= 0 and context.text[start:end] == instance.quote:
                located = LocatedSentence(instance.quote, start, end)
                found.setdefault(instance.concept_id, Quote(context, located, instance))
    return found


def _count_named_parts(query: str, relationship: QuotedRelationship, encoder: "Bm25Encoder") -> int:
    """How many of concept, type and concept share a term with the query that no earlier part has:
    "a heron" names one of two herons."""
    edge, terms = relationship.edge, {*encoder.encode_query(query).indices}
    type_text = f"{speak_name(edge.type.name)} {edge.type.description}"
    count = 0
    for text in (edge.source.label, edge.target.label, type_text):
        named = terms.intersection(encoder.encode_query(text).indices)
        count += bool(named)
        terms -= named
    return count
