"""Request parameters of knowledge searches."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from concepts.knowledge.graph import MAX_DEPTH
from core.openapi import with_example
from core.serializers import FlagField, PagingSerializer, StrictSerializer, StringField
from retrieval.search import MAX_LIMIT, MAX_OFFSET, MAX_QUERY_CHARS, Mode
from retrieval.serializers.requests import (
    FilterField,
    FiniteFloatField,
    IndexNameField,
    IndexNamesField,
    SimilarityField,
    SourceParametersSerializer,
    StringsField,
    VectorQuerySerializer,
    VersionsSerializer,
    describe_strings,
    join_alias,
)

MAX_WORDS = 10
MAX_WORD_CHARS = 200
MAX_SHARING = 20  # concepts compared


@extend_schema_field(
    describe_strings(MAX_WORDS, MAX_WORD_CHARS, "Words with commas between them, or a list.")
)
class WordsField(StringsField):
    default_error_messages = dict.fromkeys(
        ("invalid", "too_many"),
        f"The value must be a list of 1 to {MAX_WORDS} words, each of at most {MAX_WORD_CHARS} "
        "characters.",
    )
    max_count = MAX_WORDS

    def to_internal_value(self, data: Any) -> Any:
        words = super().to_internal_value(data)
        if any(len(word) > MAX_WORD_CHARS for word in words):
            self.fail("invalid")
        return words


@with_example({"index": "knowledge", "query": "wading birds", "limit": 5})
class KnowledgeQuerySerializer(VectorQuerySerializer):
    """Parameters common to all knowledge searches."""

    collection = IndexNamesField(required=False, help_text="The same as index.")
    min_similarity = SimilarityField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        join_alias(attrs, "index", "collection")
        return attrs


class PagedKnowledgeQuerySerializer(KnowledgeQuerySerializer):
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)


class SourceContextSerializer(SourceParametersSerializer, KnowledgeQuerySerializer):
    """What a search of sources shows beside each source."""

    include_concepts = FlagField(
        default=False,
        source="with_concepts",
        help_text="The quotes found in each source, with their concepts.",
    )


class SourceQuerySerializer(
    SourceContextSerializer, PagedKnowledgeQuerySerializer, VersionsSerializer
):
    mode = serializers.ChoiceField(choices=[str(mode) for mode in Mode], default="hybrid")
    filter = FilterField(required=False, help_text="As in a search of pages.")


def _limit_field(what: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text=f"Maximum number of {what}; default: limit.",
    )


class RouteQuerySerializer(SourceContextSerializer):
    """Each kind may have a limit and a minimum similarity of its own."""

    concept_limit = _limit_field("concepts")
    concept_min_similarity = SimilarityField(help_text="Of concepts; default: min_similarity.")
    source_limit = _limit_field("sources")
    source_min_similarity = SimilarityField(help_text="Of sources; default: min_similarity.")
    relationship_limit = _limit_field("relationship types")
    relationship_min_similarity = SimilarityField(
        help_text="Of relationship types; default: min_similarity."
    )
    mode = serializers.ChoiceField(
        choices=[str(mode) for mode in Mode],
        default="dense",
        help_text="How sources are ranked; concepts and relationship types by similarity.",
    )


def _weight_field(default: float, what: str) -> FiniteFloatField:
    return FiniteFloatField(
        default=default, min_value=0.0, max_value=10.0, help_text=f"Weight of {what}."
    )


class BlendQuerySerializer(KnowledgeQuerySerializer):
    concept_weight = _weight_field(1.0, "a concept's own similarity")
    source_weight = _weight_field(0.8, "the similarity of a source that quotes the concept")
    relationship_weight = _weight_field(
        0.6, "the similarity of the type of one of its relationships"
    )


class SubgraphQuerySerializer(KnowledgeQuerySerializer):
    min_similarity = SimilarityField(
        default=0.7, help_text="Show only concepts above this similarity."
    )
    limit = serializers.IntegerField(
        default=50, min_value=1, max_value=MAX_LIMIT, help_text="At most this many of each kind."
    )


@with_example({"query": "how it feeds", "limit": 5})
class EvidenceParametersSerializer(PagingSerializer):
    query = StringField(
        required=False,
        max_length=MAX_QUERY_CHARS,
        help_text="Order the quotes by similarity to this query.",
    )


class ContextParametersSerializer(SourceParametersSerializer, PagingSerializer):
    pass


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
    min_similarity = SimilarityField(help_text="Similarity of a type to a word, from -1 to 1.")


@extend_schema_field(
    describe_strings(MAX_SHARING, 36, "Ids of concepts, with commas between them, or a list.")
)
class ConceptIdsField(StringsField):
    default_error_messages = dict.fromkeys(
        ("invalid", "too_many"), f"The value must be a list of 2 to {MAX_SHARING} ids of concepts."
    )
    max_count = MAX_SHARING

    def to_internal_value(self, data: Any) -> Any:
        try:
            return [UUID(each) for each in super().to_internal_value(data)]
        except ValueError:
            self.fail("invalid")


class SharedParametersSerializer(StrictSerializer):
    ids = ConceptIdsField(help_text="The concepts, of one index.")
    limit = serializers.IntegerField(
        default=20,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text="At most this many neighbours and sources.",
    )


class SimilarSourcesParametersSerializer(SourceParametersSerializer):
    index = IndexNamesField(required=False, help_text="Default: the source's index.")
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    min_similarity = SimilarityField()
    other_documents = FlagField(default=False, help_text="Leave out sources of the same document.")


class EmergentParametersSerializer(PagingSerializer):
    index = IndexNameField()
    state = serializers.ChoiceField(choices=["open", "dismissed"], default="open")
    min_similarity = SimilarityField(
        help_text="Similarity of the two concepts. Below that of the stored pairs, the open pairs "
        "are computed for this request."
    )
    bridge_similarity = SimilarityField(
        default=0.75, help_text="Similarity of a source to both concepts."
    )


@with_example({"type": "f2f3f4a0-0b1c-4d5e-8f90-1a2b3c4d5e6f"})
class AcceptPairSerializer(StrictSerializer):
    type = serializers.UUIDField(help_text="The relationship type.")
    reversed = FlagField(default=False, help_text="Relate the second concept to the first.")
