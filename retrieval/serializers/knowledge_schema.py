"""Describes the answers of knowledge searches in the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from concepts.serializers import (
    CONCEPT_EXAMPLE,
    EVIDENCE_DISCLAIMER,
    INSTANCE_EXAMPLE,
    RELATIONSHIP_EXAMPLE,
    RELATIONSHIP_TYPE_EXAMPLE,
    InstanceSerializer,
    RelationshipSerializer,
)
from core.openapi import make_list_example, with_example
from core.serializers import ListSerializer
from retrieval.knowledge.graph import MAX_SUBGRAPH_EDGES
from retrieval.serializers.requests import IndexNamesField
from retrieval.serializers.schema import (
    HIT_EXAMPLE,
    BuildNumbersField,
    HitArtifactSerializer,
    HitPageSerializer,
    HitSerializer,
    HitSourceSerializer,
    SourceNeighbourSerializer,
    VerdictField,
)

KINDS = ["concept", "source", "relationship_type"]


def _make_entity_hit_example(kind: str, entity: dict[str, Any], text: str) -> dict[str, Any]:
    names = ("id", "index", "label", "name", "category", "description", "search_terms")
    return {
        "score": 0.83,
        "score_kind": "cosine",
        "node_id": entity["id"],
        "kind": kind,
        "text": text,
        "start_offset": None,
        "end_offset": None,
        "artifact": None,
        "page": None,
        "source": None,
        "metadata": {},
        "verdict": "exact",
        "ways": [{"way": kind, "similarity": 0.83, "weight": 1.0, "score": 0.83, "through": {}}],
        **{name: entity[name] for name in names if name in entity},
    }


CONCEPT_HIT_EXAMPLE = _make_entity_hit_example("concept", CONCEPT_EXAMPLE, "Heron") | {
    "evidence": [INSTANCE_EXAMPLE]
}
RELATIONSHIP_TYPE_HIT_EXAMPLE = _make_entity_hit_example(
    "relationship_type", RELATIONSHIP_TYPE_EXAMPLE, "EATS"
) | {"relationships": [RELATIONSHIP_EXAMPLE]}
SOURCE_EXAMPLE: dict[str, Any] = {
    "id": INSTANCE_EXAMPLE["source"]["id"],
    "ordinal": 0,
    "heading": "",
    "text": "The heron stands in the shallows at dawn.",
    "artifact": INSTANCE_EXAMPLE["artifact"],
    "page": HIT_EXAMPLE["page"],
    "neighbours": [],
}
SOURCE_HIT_EXAMPLE = SOURCE_EXAMPLE | {
    "kind": "source",
    "index": "knowledge",
    "similarity": 0.79,
    "score": 0.79,
    "score_kind": "cosine",
    "stale": False,
    "ways": [{"way": "source", "similarity": 0.79, "weight": 1.0, "score": 0.79, "through": {}}],
    "chunks": [HIT_EXAMPLE | {"score": 0.79, "score_kind": "cosine"}],
    "concepts": [{"id": CONCEPT_EXAMPLE["id"], "label": "Heron", "evidence": INSTANCE_EXAMPLE}],
}


def _make_answer_example(**content: Any) -> dict[str, Any]:
    return {
        "index": "knowledge",
        "build": 1,
        "took_ms": {"embed": 4.1, "search": 1.9, "verify": 0.8, "total": 7.2},
        **content,
    }


def _make_concept_answer_example(**content: Any) -> dict[str, Any]:
    concept = {"id": CONCEPT_EXAMPLE["id"], "label": "Heron"}
    return {"index": "knowledge", "concept": concept, **content}


class MatchReasonSerializer(serializers.Serializer):
    way = serializers.ChoiceField(choices=KINDS)
    similarity = serializers.FloatField()
    weight = serializers.FloatField()
    score = serializers.FloatField(help_text="Similarity times weight.")
    through = serializers.DictField(
        child=serializers.UUIDField(),
        help_text="Ids of what led to it; empty if its own text matched.",
    )


class KnowledgeHitSerializer(serializers.Serializer):
    score = serializers.FloatField(help_text=EVIDENCE_DISCLAIMER)
    score_kind = serializers.CharField(
        help_text="cosine; of a source also rrf or bm25, by the mode; of a blended concept "
        "weighted_sum, the sum of the scores in ways."
    )
    kind = serializers.ChoiceField(choices=KINDS)
    id = serializers.UUIDField()
    index = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    ways = MatchReasonSerializer(many=True, help_text="How it was found; see score_kind.")


class EntityHitSerializer(KnowledgeHitSerializer):
    """A hit on an entity, whose text no document holds."""

    node_id = serializers.UUIDField()
    verdict = VerdictField()
    start_offset = serializers.IntegerField(allow_null=True, help_text="Always null.")
    end_offset = serializers.IntegerField(allow_null=True, help_text="Always null.")
    artifact = HitArtifactSerializer(allow_null=True, help_text="Always null.")
    page = HitPageSerializer(allow_null=True, help_text="Always null.")
    source = HitSourceSerializer(  # type: ignore[assignment]
        allow_null=True, help_text="Always null."
    )
    metadata = serializers.DictField()


class ConceptHitSerializer(EntityHitSerializer):
    label = serializers.CharField()  # type: ignore[assignment]
    description = serializers.CharField()
    search_terms = serializers.ListField(child=serializers.CharField())
    evidence = InstanceSerializer(many=True)


class RelationshipTypeHitSerializer(EntityHitSerializer):
    name = serializers.CharField()
    category = serializers.CharField()
    description = serializers.CharField()
    relationships = RelationshipSerializer(many=True)


class QuotedConceptSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    evidence = InstanceSerializer()


class SourceHitSerializer(KnowledgeHitSerializer):
    ordinal = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField(allow_null=True)
    artifact = HitArtifactSerializer()
    page = HitPageSerializer()
    similarity = serializers.FloatField(help_text="Cosine of its nearest chunk, in every mode.")
    stale = serializers.BooleanField(help_text="It changed since its chunks were embedded.")
    chunks = HitSerializer(many=True)
    concepts = QuotedConceptSerializer(many=True)
    neighbours = SourceNeighbourSerializer(many=True)


class KnowledgeAnswerSerializer(serializers.Serializer):
    index = IndexNamesField()
    build = BuildNumbersField()
    took_ms = serializers.DictField(child=serializers.FloatField())


@with_example(_make_answer_example(hits=[CONCEPT_HIT_EXAMPLE]))
class ConceptSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = ConceptHitSerializer(many=True)


@with_example(_make_answer_example(hits=[RELATIONSHIP_TYPE_HIT_EXAMPLE]))
class RelationshipTypeSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = RelationshipTypeHitSerializer(many=True)


@with_example(_make_answer_example(hits=[SOURCE_HIT_EXAMPLE]))
class SourceSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = SourceHitSerializer(many=True)


class EntryPointSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(choices=KINDS)
    id = serializers.UUIDField()
    similarity = serializers.FloatField()


@with_example(
    _make_answer_example(
        entry={"kind": "concept", "id": CONCEPT_EXAMPLE["id"], "similarity": 0.83},
        concepts=[CONCEPT_HIT_EXAMPLE],
        sources=[SOURCE_HIT_EXAMPLE],
        relationship_types=[RELATIONSHIP_TYPE_HIT_EXAMPLE],
    )
)
class RoutingAnswerSerializer(KnowledgeAnswerSerializer):
    entry = EntryPointSerializer(allow_null=True)
    concepts = ConceptHitSerializer(many=True)
    sources = SourceHitSerializer(many=True)
    relationship_types = RelationshipTypeHitSerializer(many=True)


class ConceptInstanceSerializer(InstanceSerializer):
    concept = serializers.UUIDField()


@with_example(
    _make_answer_example(
        concepts=[CONCEPT_HIT_EXAMPLE],
        sources=[SOURCE_HIT_EXAMPLE],
        relationship_types=[RELATIONSHIP_TYPE_HIT_EXAMPLE],
        relationships=[RELATIONSHIP_EXAMPLE],
        relationship_count=1,
        evidence=[INSTANCE_EXAMPLE | {"concept": CONCEPT_EXAMPLE["id"]}],
    )
)
class SubgraphAnswerSerializer(KnowledgeAnswerSerializer):
    concepts = ConceptHitSerializer(many=True)
    sources = SourceHitSerializer(many=True)
    relationship_types = RelationshipTypeHitSerializer(many=True)
    relationships = RelationshipSerializer(
        many=True,
        help_text=f"Relationships of these concepts, at most {MAX_SUBGRAPH_EDGES:,}; those among "
        "them first.",
    )
    relationship_count = serializers.IntegerField(help_text="All relationships of these concepts.")
    evidence = ConceptInstanceSerializer(
        many=True, help_text="The quotes that connect the concepts with the sources."
    )


class ConceptLabelSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]


class SingleConceptAnswerSerializer(serializers.Serializer):
    index = serializers.CharField()
    concept = ConceptLabelSerializer()


class RankedInstanceSerializer(InstanceSerializer):
    similarity = serializers.FloatField(allow_null=True, help_text="Similarity to the query.")
    way = serializers.CharField()


@with_example(
    _make_concept_answer_example(
        count=1, hits=[INSTANCE_EXAMPLE | {"similarity": 0.74, "way": "evidence"}]
    )
)
class ConceptEvidenceAnswerSerializer(SingleConceptAnswerSerializer):
    count = serializers.IntegerField()
    hits = RankedInstanceSerializer(many=True)


class ConceptSourceSerializer(SourceNeighbourSerializer):
    artifact = HitArtifactSerializer()
    evidence = InstanceSerializer(many=True)
    neighbours = SourceNeighbourSerializer(many=True)


@with_example(
    _make_concept_answer_example(sources=[SOURCE_EXAMPLE | {"evidence": [INSTANCE_EXAMPLE]}])
)
class ConceptContextAnswerSerializer(SingleConceptAnswerSerializer):
    sources = ConceptSourceSerializer(many=True)


class PathStepSerializer(RelationshipSerializer):
    similarity = serializers.FloatField(help_text="Similarity of its type to the word.")
    like = serializers.CharField()
    reversed = serializers.BooleanField(help_text="Followed against its direction.")


class ConceptPathSerializer(serializers.Serializer):
    similarity = serializers.FloatField(help_text="The lowest similarity of its steps.")
    concepts = serializers.ListField(child=serializers.UUIDField())
    steps = PathStepSerializer(many=True)


@with_example(
    _make_concept_answer_example(
        paths=[
            {
                "similarity": 0.71,
                "concepts": [RELATIONSHIP_EXAMPLE[end]["id"] for end in ("source", "target")],
                "steps": [
                    RELATIONSHIP_EXAMPLE | {"similarity": 0.71, "like": "feeds", "reversed": False}
                ],
            }
        ]
    )
)
class PathsAnswerSerializer(SingleConceptAnswerSerializer):
    paths = ConceptPathSerializer(many=True)


class BridgeSerializer(SourceHitSerializer):
    similarities = serializers.ListField(child=serializers.FloatField())


EMERGENT_PAIR_EXAMPLE: dict[str, Any] = {
    "id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
    "index": "knowledge",
    "concepts": [
        {"id": CONCEPT_EXAMPLE["id"], "label": "Heron"},
        {"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e", "label": "Egret"},
    ],
    "similarity": 0.88,
    "way": "nearness",
    "state": "open",
    "found_at": "2026-03-02T09:30:00Z",
    "bridges": [SOURCE_HIT_EXAMPLE | {"similarities": [0.79, 0.81]}],
}


@with_example(EMERGENT_PAIR_EXAMPLE)
class EmergentPairSerializer(serializers.Serializer):
    id = serializers.UUIDField(
        allow_null=True, help_text="Null if the pair was computed for this request and not stored."
    )
    index = serializers.CharField()
    concepts = ConceptLabelSerializer(many=True, help_text="The two concepts.")
    similarity = serializers.FloatField()
    way = serializers.CharField()
    state = serializers.ChoiceField(choices=["open", "dismissed"])
    found_at = serializers.DateTimeField(
        allow_null=True, help_text="Null if the pair is not stored."
    )
    bridges = BridgeSerializer(many=True)


@with_example(make_list_example(EMERGENT_PAIR_EXAMPLE))
class EmergentPairListSerializer(ListSerializer):
    results = EmergentPairSerializer(many=True)
