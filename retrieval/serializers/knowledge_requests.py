"""Request parameters of knowledge searches."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.exceptions import InvalidInput
from core.openapi import with_example
from core.serializers import MAX_OFFSET, FlagField, StrictSerializer, StringField
from retrieval.knowledge.graph import MAX_DEPTH
from retrieval.search import MAX_LIMIT, MAX_QUERY_CHARS, Mode
from retrieval.search import MAX_OFFSET as MAX_SEARCH_OFFSET
from retrieval.serializers.requests import (
    FilterField,
    FiniteFloatField,
    IndexNameField,
    IndexNamesField,
    merge_query_names,
)
from retrieval.source_context import MAX_WINDOW

DEFAULT_SUBGRAPH_SIMILARITY = 0.7
DEFAULT_BRIDGE_SIMILARITY = 0.75
MAX_WORDS = 10
MAX_WORD_CHARS = 200
WEIGHT_RANGE: dict[str, Any] = {"min_value": 0.0, "max_value": 10.0}
SIMILARITY_RANGE: dict[str, Any] = {"min_value": -1.0, "max_value": 1.0}


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": MAX_WORDS * (MAX_WORD_CHARS + 1)},
            {
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_WORD_CHARS},
                "maxItems": MAX_WORDS,
            },
        ],
        "description": "Words with commas between them, or a list.",
    }
)
class WordsField(serializers.Field):
    """Words separated by commas, or a list of words."""

    default_error_messages = {
        "invalid": f"The value must be a list of 1 to {MAX_WORDS} words, each of at most "
        f"{MAX_WORD_CHARS} characters."
    }

    def to_internal_value(self, data: Any) -> list[str]:
        words = data.split(",") if isinstance(data, str) else data
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self.fail("invalid")
        words = [word.strip() for word in words]
        if not 1 <= len(words) <= MAX_WORDS or not all(
            1 <= len(word) <= MAX_WORD_CHARS for word in words
        ):
            self.fail("invalid")
        return words


@with_example({"index": "knowledge", "query": "wading birds", "limit": 5})
class KnowledgeQuerySerializer(StrictSerializer):
    """Parameters common to all knowledge searches."""

    index = IndexNamesField(required=False)
    collection = IndexNamesField(required=False, help_text="The same as index.")
    query = StringField(required=False, max_length=MAX_QUERY_CHARS)
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    min_similarity = FiniteFloatField(
        required=False, help_text="Cosine, from -1 to 1.", **SIMILARITY_RANGE
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = merge_query_names(attrs)
        collection = attrs.pop("collection", None)
        if collection is not None and "index" in attrs:
            raise InvalidInput("Give index or collection, not both.", field="collection")
        attrs.setdefault("index", collection)
        if attrs["index"] is None:
            raise InvalidInput("Give an index.", field="index")
        return attrs


class PagedKnowledgeQuerySerializer(KnowledgeQuerySerializer):
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_SEARCH_OFFSET)


class SourceContextSerializer(KnowledgeQuerySerializer):
    """What a search of sources shows beside each source."""

    include_concepts = FlagField(
        default=False,
        source="with_concepts",
        help_text="The quotes found in each source, with their concepts.",
    )
    window = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_WINDOW, help_text="Neighbours on each side."
    )


class SourceQuerySerializer(SourceContextSerializer, PagedKnowledgeQuerySerializer):
    mode = serializers.ChoiceField(choices=[str(mode) for mode in Mode], default="hybrid")
    filter = FilterField(required=False, help_text="As in a search of pages.")


def _limit_field(what: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text=f"Maximum number of {what}; default: limit.",
    )


def _similarity_field(what: str) -> FiniteFloatField:
    return FiniteFloatField(
        required=False, help_text=f"Of {what}; default: min_similarity.", **SIMILARITY_RANGE
    )


class RouteQuerySerializer(SourceContextSerializer):
    """Each kind may have a limit and a minimum similarity of its own."""

    concept_limit = _limit_field("concepts")
    concept_min_similarity = _similarity_field("concepts")
    source_limit = _limit_field("sources")
    source_min_similarity = _similarity_field("sources")
    relationship_limit = _limit_field("relationship types")
    relationship_min_similarity = _similarity_field("relationship types")
    mode = serializers.ChoiceField(
        choices=[str(mode) for mode in Mode],
        default="dense",
        help_text="How sources are ranked; concepts and relationship types by similarity.",
    )


class BlendQuerySerializer(KnowledgeQuerySerializer):
    concept_weight = FiniteFloatField(
        default=1.0, help_text="Weight of a concept's own similarity.", **WEIGHT_RANGE
    )
    source_weight = FiniteFloatField(
        default=0.8,
        help_text="Weight of the similarity of a source that quotes the concept.",
        **WEIGHT_RANGE,
    )
    relationship_weight = FiniteFloatField(
        default=0.6,
        help_text="Weight of the similarity of the type of one of its relationships.",
        **WEIGHT_RANGE,
    )


class SubgraphQuerySerializer(KnowledgeQuerySerializer):
    min_similarity = FiniteFloatField(
        default=DEFAULT_SUBGRAPH_SIMILARITY,
        help_text="Show only concepts above this similarity.",
        **SIMILARITY_RANGE,
    )
    limit = serializers.IntegerField(
        default=50,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text="At most this many of each kind.",
    )


@with_example({"query": "how it feeds", "limit": 5})
class EvidenceParametersSerializer(StrictSerializer):
    query = StringField(
        required=False,
        max_length=MAX_QUERY_CHARS,
        help_text="Order the evidence by similarity to this query.",
    )
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_LIMIT)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)


class ContextParametersSerializer(StrictSerializer):
    window = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_WINDOW, help_text="Neighbours on each side."
    )
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_LIMIT)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)


class PathParametersSerializer(StrictSerializer):
    like = WordsField(
        help_text="Words that the relationship types should be similar to, separated by commas."
    )
    depth = serializers.IntegerField(
        default=2,
        min_value=1,
        max_value=MAX_DEPTH,
        help_text="Maximum number of relationships in a chain.",
    )
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_LIMIT)
    min_similarity = FiniteFloatField(
        required=False,
        help_text="Similarity of a type to a word, from -1 to 1.",
        **SIMILARITY_RANGE,
    )


class SimilarSourcesParametersSerializer(StrictSerializer):
    index = IndexNamesField(required=False, help_text="Default: the source's index.")
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    min_similarity = FiniteFloatField(
        required=False, help_text="Cosine, from -1 to 1.", **SIMILARITY_RANGE
    )
    window = serializers.IntegerField(default=0, min_value=0, max_value=MAX_WINDOW)
    other_documents = FlagField(default=False, help_text="Leave out sources of the same document.")


class EmergentParametersSerializer(StrictSerializer):
    index = IndexNameField()
    state = serializers.ChoiceField(choices=["open", "dismissed"], default="open")
    min_similarity = FiniteFloatField(
        required=False,
        help_text="Similarity of the two concepts. Below that of the stored pairs, the open pairs "
        "are computed for this request.",
        **SIMILARITY_RANGE,
    )
    bridge_similarity = FiniteFloatField(
        default=DEFAULT_BRIDGE_SIMILARITY,
        help_text="Similarity of a source to both concepts.",
        **SIMILARITY_RANGE,
    )
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_LIMIT)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)


@with_example({"type": "f2f3f4a0-0b1c-4d5e-8f90-1a2b3c4d5e6f"})
class AcceptPairSerializer(StrictSerializer):
    type = serializers.UUIDField(help_text="The relationship type.")
    reversed = FlagField(default=False, help_text="Relate the second concept to the first.")
