"""Request and response serializers of the evaluations and judgements API."""

from typing import Any

from rest_framework import serializers

from core.serializers import (
    MAX_NAME_CHARS,
    ErrorSerializer,
    PagingSerializer,
    StrictSerializer,
    StringField,
)
from evaluation.measuring import DEFAULT_MEASURES
from evaluation.models import EvaluationRun, Judgement
from retrieval.search import MAX_QUERY_CHARS

VERDICT_NAMES = {True: "good", False: "bad"}


class EvaluationRequestSerializer(StrictSerializer):
    index = StringField(max_length=MAX_NAME_CHARS)
    systems = serializers.ListField(
        child=StringField(max_length=MAX_NAME_CHARS),
        required=False,
        min_length=1,
        help_text="Modes (dense, sparse, hybrid, …) and query pipelines; by default every mode "
        "that the index can answer.",
    )
    against = StringField(
        required=False, max_length=MAX_NAME_CHARS, help_text="What the others are compared with."
    )
    measures = serializers.ListField(
        child=StringField(max_length=MAX_NAME_CHARS),
        required=False,
        min_length=1,
        help_text=f"In ir_measures' notation; by default {', '.join(DEFAULT_MEASURES)}.",
    )
    queries = serializers.DictField(
        child=StringField(max_length=MAX_QUERY_CHARS),
        required=False,
        help_text="Query id to text. Without queries and qrels: the index's golden queries.",
    )
    qrels = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField(min_value=0, max_value=1_000)),
        required=False,
        help_text="Query id to what answers it to how well. Documents go by their external ids "
        "or artifact ids; d1#page=3 is the third page of one.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("queries" in attrs) != ("qrels" in attrs):
            raise serializers.ValidationError({"qrels": ["queries and qrels come together."]})
        return attrs


class EvaluationListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)


class DifferenceSerializer(serializers.Serializer):
    baseline = serializers.FloatField()
    system = serializers.FloatField()
    difference = serializers.FloatField()
    low = serializers.FloatField(help_text="Of the 95 % interval, by paired bootstrap.")
    high = serializers.FloatField()
    is_significant = serializers.BooleanField()


class SystemResultSerializer(serializers.Serializer):
    system = serializers.CharField()
    measures = serializers.DictField(child=serializers.FloatField())
    p50_ms = serializers.FloatField(help_text="Of a first page of ten.")
    p95_ms = serializers.FloatField()
    differences = serializers.DictField(
        child=DifferenceSerializer(), required=False, help_text="By measure, to the baseline."
    )


class EvaluationProgressSerializer(serializers.Serializer):
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Answers: queries times systems.")


class EvaluationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.CharField()
    build = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=EvaluationRun.State.choices)
    systems = serializers.ListField(child=serializers.CharField())
    against = serializers.CharField(allow_null=True)
    measures = serializers.ListField(child=serializers.CharField())
    judgements = serializers.ChoiceField(
        choices=EvaluationRun.Source.choices, help_text="Where they are from."
    )
    judgements_hash = serializers.CharField(help_text="Runs that agree in it compare.")
    queries = serializers.IntegerField(help_text="How many.")
    progress = EvaluationProgressSerializer()
    results = SystemResultSerializer(many=True)
    error = ErrorSerializer(allow_null=True)
    asked_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class EarlierRunSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    build = serializers.IntegerField(allow_null=True)
    finished_at = serializers.DateTimeField()
    results = SystemResultSerializer(many=True)


class EvaluationDetailSerializer(EvaluationSerializer):
    earlier = EarlierRunSerializer(
        many=True, help_text="Runs of the same queries on the index before it, the oldest first."
    )


class EvaluationListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = EvaluationSerializer(many=True)


class JudgementRequestSerializer(StrictSerializer):
    index = StringField(max_length=MAX_NAME_CHARS)
    query = StringField(max_length=MAX_QUERY_CHARS)
    node_id = serializers.UUIDField(required=False, help_text="Of a hit.")
    artifact_id = serializers.UUIDField(required=False, help_text="In place of a hit.")
    verdict = serializers.ChoiceField(choices=["good", "bad"])


class JudgementListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)
    query = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="To the letter.")
    verdict = serializers.ChoiceField(choices=["good", "bad"], required=False)


class JudgementSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.CharField()
    query = serializers.CharField()
    artifact_id = serializers.UUIDField()
    page_index = serializers.IntegerField(
        allow_null=True, help_text="Counted from 0; null for the artifact as a whole."
    )
    node_id = serializers.UUIDField(allow_null=True)
    verdict = serializers.ChoiceField(choices=["good", "bad"])
    judged_by = serializers.CharField()
    judged_at = serializers.DateTimeField()


class JudgementListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = JudgementSerializer(many=True)


def render_judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "id": str(judgement.pk),
        "index": judgement.index_id,
        "query": judgement.query,
        "artifact_id": str(judgement.artifact_id),
        "page_index": judgement.page_index,
        "node_id": None if judgement.node_id is None else str(judgement.node_id),
        "verdict": VERDICT_NAMES[judgement.is_good],
        "judged_by": judgement.judged_by,
        "judged_at": judgement.judged_at,
    }
