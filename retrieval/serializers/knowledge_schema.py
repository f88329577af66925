"""Describes the answers of knowledge searches in the OpenAPI document."""

from rest_framework import serializers

from concepts.serializers import EVIDENCE_DISCLAIMER, InstanceSerializer, RelationshipSerializer
from retrieval.serializers.schema import HitSerializer, VerdictField

KINDS = ["concept", "source", "relationship_type"]


class MatchReasonSerializer(serializers.Serializer):
    way = serializers.ChoiceField(choices=KINDS)
    similarity = serializers.FloatField()
    weight = serializers.FloatField()
    score = serializers.FloatField(help_text="Similarity times weight.")
    through = serializers.DictField(
        child=serializers.UUIDField(), help_text="What led there, if not its own meaning."
    )


class KnowledgeHitSerializer(serializers.Serializer):
    score = serializers.FloatField(help_text=f"The best of its ways. {EVIDENCE_DISCLAIMER}")
    score_kind = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    id = serializers.UUIDField()
    index = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    ways = MatchReasonSerializer(many=True)


class ConceptHitSerializer(KnowledgeHitSerializer):
    node_id = serializers.UUIDField()
    verdict = VerdictField()
    label = serializers.CharField()  # type: ignore[assignment]
    description = serializers.CharField()
    search_terms = serializers.ListField(child=serializers.CharField())
    evidence = InstanceSerializer(many=True)


class RelationshipTypeHitSerializer(KnowledgeHitSerializer):
    node_id = serializers.UUIDField()
    verdict = VerdictField()
    name = serializers.CharField()
    category = serializers.CharField()
    description = serializers.CharField()
    relationships = RelationshipSerializer(many=True)


class QuotedConceptSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    evidence = InstanceSerializer()


class AdjacentSourceSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    ordinal = serializers.IntegerField()
    heading = serializers.CharField()
    text = serializers.CharField()
    page = serializers.DictField()


class SourceHitSerializer(KnowledgeHitSerializer):
    ordinal = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField(allow_null=True)
    artifact = serializers.DictField()
    page = serializers.DictField()
    similarity = serializers.FloatField(help_text="Of its nearest chunk.")
    stale = serializers.BooleanField(help_text="It changed since its chunks were embedded.")
    chunks = HitSerializer(many=True)
    concepts = QuotedConceptSerializer(many=True)
    neighbours = AdjacentSourceSerializer(many=True)


class KnowledgeAnswerSerializer(serializers.Serializer):
    index = serializers.JSONField(help_text="A name, or a list where several were asked.")
    build = serializers.JSONField()
    took_ms = serializers.DictField(child=serializers.FloatField())


class ConceptSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = ConceptHitSerializer(many=True)


class RelationshipTypeSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = RelationshipTypeHitSerializer(many=True)


class SourceSearchAnswerSerializer(KnowledgeAnswerSerializer):
    hits = SourceHitSerializer(many=True)


class EntryPointSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(choices=KINDS)
    id = serializers.UUIDField()
    similarity = serializers.FloatField()


class RoutingAnswerSerializer(KnowledgeAnswerSerializer):
    entry = EntryPointSerializer(allow_null=True)
    concepts = ConceptHitSerializer(many=True)
    sources = SourceHitSerializer(many=True)
    relationship_types = RelationshipTypeHitSerializer(many=True)


class ConceptInstanceSerializer(InstanceSerializer):
    concept = serializers.UUIDField()


class SubgraphAnswerSerializer(KnowledgeAnswerSerializer):
    concepts = ConceptHitSerializer(many=True)
    sources = SourceHitSerializer(many=True)
    relationship_types = RelationshipTypeHitSerializer(many=True)
    relationships = RelationshipSerializer(many=True, help_text="Among the concepts.")
    evidence = ConceptInstanceSerializer(
        many=True, help_text="What joins the concepts to the sources."
    )


class ConceptLabelSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]


class SingleConceptAnswerSerializer(serializers.Serializer):
    index = serializers.CharField()
    concept = ConceptLabelSerializer()


class RankedInstanceSerializer(InstanceSerializer):
    similarity = serializers.FloatField(allow_null=True, help_text="To the query.")
    way = serializers.CharField()


class ConceptEvidenceAnswerSerializer(SingleConceptAnswerSerializer):
    count = serializers.IntegerField()
    hits = RankedInstanceSerializer(many=True)


class ConceptSourceSerializer(AdjacentSourceSerializer):
    artifact = serializers.DictField()
    evidence = InstanceSerializer(many=True)
    neighbours = AdjacentSourceSerializer(many=True)


class ConceptContextAnswerSerializer(SingleConceptAnswerSerializer):
    sources = ConceptSourceSerializer(many=True)


class PathStepSerializer(RelationshipSerializer):
    similarity = serializers.FloatField(help_text="Of its type to the word.")
    like = serializers.CharField()
    reversed = serializers.BooleanField(help_text="Gone against its direction.")


class ConceptPathSerializer(serializers.Serializer):
    similarity = serializers.FloatField(help_text="The least of its steps'.")
    concepts = serializers.ListField(child=serializers.UUIDField())
    steps = PathStepSerializer(many=True)


class PathsAnswerSerializer(SingleConceptAnswerSerializer):
    paths = ConceptPathSerializer(many=True)


class BridgeSerializer(SourceHitSerializer):
    similarities = serializers.ListField(child=serializers.FloatField())


class EmergentPairSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.CharField()
    concepts = ConceptLabelSerializer(many=True, help_text="Two.")
    similarity = serializers.FloatField()
    way = serializers.CharField()
    state = serializers.ChoiceField(choices=["open", "dismissed"])
    found_at = serializers.DateTimeField()
    bridges = BridgeSerializer(many=True)


class EmergentPairListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = EmergentPairSerializer(many=True)
