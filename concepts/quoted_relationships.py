"""Finds the relationships of the concepts that the passages of an answer quote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from access.grants import Grant
from concepts.knowledge.sources import find_quotes
from concepts.models import Instance, Relationship, speak_name
from concepts.serializers import render_quote, render_relationship
from indexing.stores import get_bm25_encoder
from retrieval.passages import AnswerContext, Quote, QuotedRelationship
from text.quotable_sentences import LocatedSentence

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder

MAX_RELATIONSHIPS: Final = 10  # of an answer
_MAX_COMPARED: Final = 500  # relationships compared with the question


@dataclass(frozen=True, slots=True)
class ConceptQuote(Quote):
    instance: Instance


@dataclass(frozen=True, slots=True)
class ConceptRelationship(QuotedRelationship):
    """A relationship with quotes of its concepts."""

    edge: Relationship
    quotes: tuple[ConceptQuote, ...]

    @property
    def statement(self) -> str:
        return str(self.edge)

    def count_named_parts(self, query: str, encoder: "Bm25Encoder") -> int:
        """How many of concept, type and concept share a term with the query that no earlier part
        has: "a heron" names one of two herons."""
        edge, terms = self.edge, encoder.find_words(query)
        type_text = f"{speak_name(edge.type.name)} {edge.type.description}"
        count = 0
        for text in (edge.source.label, edge.target.label, type_text):
            named = terms.intersection(encoder.encode_document(text).indices)
            count += bool(named)
            terms -= named
        return count

    def render(self) -> dict[str, Any]:
        quotes = [
            {"number": each.context.number, **render_quote(each.instance)} for each in self.quotes
        ]
        return {**render_relationship(self.edge), "quotes": quotes}


def find_quoted_relationships(
    query: str, contexts: Sequence[AnswerContext], grant: Grant
) -> list[ConceptRelationship]:
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
        ConceptRelationship(
            edge, tuple(quotes[end] for end in (edge.source_id, edge.target_id) if end in quotes)
        )
        for edge in edges.involving(quotes).inside_first(quotes)[:_MAX_COMPARED]
    ]
    # The sort is stable, so ties keep the order of the database.
    found.sort(key=lambda each: -each.count_named_parts(query, encoder))
    return found[:MAX_RELATIONSHIPS]


def _find_quotes(contexts: Sequence[AnswerContext], grant: Grant) -> dict[UUID, ConceptQuote]:
    """Concept -> its first quote that a context holds."""
    by_source: dict[str, list[AnswerContext]] = {}
    for context in contexts:
        by_source.setdefault(str(context.passage.hit.payload["source_id"]), []).append(context)
    if not by_source:
        return {}
    found: dict[UUID, ConceptQuote] = {}
    rows = find_quotes([UUID(each) for each in by_source], grant)
    rows = rows.select_related("artifact", "source").order_by("start_offset", "pk")
    for instance in rows:
        for context in by_source[str(instance.source_id)]:
            start = instance.start_offset - context.passage.hit.payload["start_offset"]
            end = start + len(instance.quote)
            if start >= 0 and context.text[start:end] == instance.quote:
                located = LocatedSentence(instance.quote, start, end)
                found.setdefault(instance.concept_id, ConceptQuote(context, located, instance))
    return found
