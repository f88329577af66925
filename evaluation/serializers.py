"""Request and response serializers of the evaluations and judgements API."""

from typing import Any

from rest_framework import serializers

from access.grants import Grant
from core.openapi import make_list_example, with_example
from core.serializers import (
    MAX_NAME_CHARS,
    ErrorSerializer,
    ListSerializer,
    PagingSerializer,
    StrictSerializer,
    StringField,
)
from evaluation.measuring import DEFAULT_MEASURES
from evaluation.models import EvaluationRun, Judgement
from retrieval.search import MAX_QUERY_CHARS

VERDICT_NAMES = {True: "good", False: "bad"}


@with_example(
    {
        "index": "handbook",
        "systems": ["hybrid"],
        "against": "sparse",
        "measures": ["nDCG@10"],
        "queries": {"q1": "when is the lamp lit"},
        "qrels": {"q1": {"handbook-7": 1}},
    }
)
class EvaluationRequestSerializer(StrictSerializer):
    index = StringField(max_length=MAX_NAME_CHARS)
    systems = serializers.ListField(
        child=StringField(max_length=MAX_NAME_CHARS),
        required=False,
        min_length=1,
        help_text="Modes (dense, sparse, hybrid, …) and query pipelines; by default every mode "
        "that the index supports.",
    )
    against = StringField(
        required=False,
        max_length=MAX_NAME_CHARS,
        help_text="The system that the others are compared with.",
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
        help_text="Query id to text. Default: the index's golden queries.",
    )
    qrels = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField(min_value=0, max_value=1_000)),
        required=False,
        help_text="Query id to document to relevance. Documents are named by external id or "
        "artifact id; d1#page=3 is the third page of document d1.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("queries" in attrs) != ("qrels" in attrs):
            raise serializers.ValidationError(
                {"qrels": ["queries and qrels must be given together."]}
            )
        return attrs


class EvaluationListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)


class DifferenceSerializer(serializers.Serializer):
    baseline = serializers.FloatField()
    system = serializers.FloatField()
    difference = serializers.FloatField()
    low = serializers.FloatField(help_text="Lower end of the 95 % interval, by paired bootstrap.")
    high = serializers.FloatField()
    is_significant = serializers.BooleanField()


class SystemResultSerializer(serializers.Serializer):
    system = serializers.CharField()
    measures = serializers.DictField(child=serializers.FloatField())
    p50_ms = serializers.FloatField(help_text="Latency of a first page of ten hits.")
    p95_ms = serializers.FloatField()
    differences = serializers.DictField(
        child=DifferenceSerializer(),
        required=False,
        help_text="Differences to the baseline, by measure.",
    )


class EvaluationProgressSerializer(serializers.Serializer):
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Searches to run: queries times systems.")


EVALUATION_EXAMPLE: dict[str, Any] = {
    "id": "9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
    "index": "handbook",
    "build": 1,
    "state": "done",
    "systems": ["hybrid", "sparse"],
    "against": "sparse",
    "measures": ["nDCG@10"],
    "judgements": "given",
    "judgements_hash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "queries": 1,
    "progress": {"done": 2, "total": 2},
    "results": [
        {
            "system": "hybrid",
            "measures": {"nDCG@10": 0.91},
            "p50_ms": 12.4,
            "p95_ms": 19.7,
            "differences": {
                "nDCG@10": {
                    "baseline": 0.85,
                    "system": 0.91,
                    "difference": 0.06,
                    "low": 0.02,
                    "high": 0.11,
                    "is_significant": True,
                }
            },
        }
    ],
    "error": None,
    "asked_by": "key ci",
    "created_at": "2026-03-02T09:30:00Z",
    "finished_at": "2026-03-02T09:30:02Z",
}


@with_example(EVALUATION_EXAMPLE)
class EvaluationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.CharField()
    build = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=EvaluationRun.State.choices)
    systems = serializers.ListField(child=serializers.CharField())
    against = serializers.CharField(allow_null=True)
    measures = serializers.ListField(child=serializers.CharField())
    judgements = serializers.ChoiceField(
        choices=EvaluationRun.Source.choices, help_text="Where the judgements come from."
    )
    judgements_hash = serializers.CharField(help_text="Runs with the same hash are comparable.")
    queries = serializers.IntegerField(help_text="Number of queries.")
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


@with_example(EVALUATION_EXAMPLE | {"earlier": []})
class EvaluationDetailSerializer(EvaluationSerializer):
    earlier = EarlierRunSerializer(
        many=True, help_text="Earlier runs of the same queries on this index, oldest first."
    )


@with_example(make_list_example(EVALUATION_EXAMPLE))
class EvaluationListSerializer(ListSerializer):
    results = EvaluationSerializer(many=True)


JUDGEMENT_EXAMPLE: dict[str, Any] = {
    "id": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed",
    "index": "handbook",
    "query": "when is the lamp lit",
    "artifact_id": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1",
    "page_index": 0,
    "node_id": "8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e",
    "verdict": "good",
    "judged_by": "vera",
    "judged_at": "2026-03-02T09:35:00Z",
}


@with_example({name: JUDGEMENT_EXAMPLE[name] for name in ("index", "query", "node_id", "verdict")})
class JudgementRequestSerializer(StrictSerializer):
    index = StringField(max_length=MAX_NAME_CHARS)
    query = StringField(max_length=MAX_QUERY_CHARS)
    node_id = serializers.UUIDField(required=False, help_text="Node id of the judged hit.")
    artifact_id = serializers.UUIDField(
        required=False, help_text="The judged artifact, instead of a hit."
    )
    verdict = serializers.ChoiceField(choices=["good", "bad"])


class JudgementListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)
    query = StringField(
        required=False, max_length=MAX_QUERY_CHARS, help_text="The exact query text."
    )
    verdict = serializers.ChoiceField(choices=["good", "bad"], required=False)


@with_example(JUDGEMENT_EXAMPLE)
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
    judged_by = serializers.CharField(
        help_text="Name of the key or user; empty for others who do not see all documents."
    )
    judged_at = serializers.DateTimeField()


@with_example(make_list_example(JUDGEMENT_EXAMPLE))
class JudgementListSerializer(ListSerializer):
    results = JudgementSerializer(many=True)


def render_judgement(judgement: Judgement, grant: Grant, caller: str) -> dict[str, Any]:
    """``caller``: the name under which the request judges."""
    shows_name = grant.sees_all_documents or judgement.judged_by == caller
    return {
        "id": str(judgement.pk),
        "index": judgement.index_id,
        "query": judgement.query,
        "artifact_id": str(judgement.artifact_id),
        "page_index": judgement.page_index,
        "node_id": None if judgement.node_id is None else str(judgement.node_id),
        "verdict": VERDICT_NAMES[judgement.is_good],
        "judged_by": judgement.judged_by if shows_name else "",
        "judged_at": judgement.judged_at,
    }
