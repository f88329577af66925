"""Reads the requests of the evaluations and judgements API and renders answers."""

from typing import Any

from rest_framework import serializers

from access.grants import Grant
from core.exceptions import InvalidInput
from core.openapi import with_example
from core.serializers import MAX_NAME_CHARS, PagingSerializer, StrictSerializer, StringField
from evaluation.judged_queries import make_judged_queries
from evaluation.measuring import DEFAULT_MEASURES
from evaluation.models import EvaluationRun, Judgement
from retrieval.search import MAX_QUERY_CHARS


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
        source="baseline",
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
            raise InvalidInput("queries and qrels must be given together.", field="qrels")
        if "qrels" in attrs:
            attrs["judged"] = make_judged_queries(attrs.pop("queries"), attrs.pop("qrels"))
        return attrs


class EvaluationListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)


class VerdictField(serializers.ChoiceField):
    """Gives ``is_good``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(["good", "bad"], source="is_good", **options)

    def to_internal_value(self, data: Any) -> bool:  # type: ignore[override]
        return bool(super().to_internal_value(data) == "good")


@with_example(
    {
        "index": "handbook",
        "query": "when is the lamp lit",
        "node_id": "8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e",
        "verdict": "good",
    }
)
class JudgementRequestSerializer(StrictSerializer):
    index = StringField(max_length=MAX_NAME_CHARS)
    query = StringField(max_length=MAX_QUERY_CHARS)
    node_id = serializers.UUIDField(required=False, help_text="Node id of the judged hit.")
    artifact_id = serializers.UUIDField(
        required=False, help_text="The judged artifact, instead of a hit."
    )
    verdict = VerdictField()


class JudgementListParametersSerializer(PagingSerializer):
    index = StringField(required=False, max_length=MAX_NAME_CHARS)
    query = StringField(
        required=False, max_length=MAX_QUERY_CHARS, help_text="The exact query text."
    )
    verdict = VerdictField(required=False)


def render_run(run: EvaluationRun) -> dict[str, Any]:
    error = {"code": run.error_code, "detail": run.error_detail} if run.error_code else None
    return {
        "id": str(run.pk),
        "index": run.index_id,
        "build": run.build_number,
        "state": run.state,
        "systems": run.systems,
        "against": run.baseline or None,
        "measures": run.measures,
        "judgements": run.source,
        "judgements_hash": run.judgements_hash,
        "queries": run.query_count,
        "progress": {"done": run.done_count, "total": run.total_count},
        "results": run.results,
        "error": error,
        "asked_by": run.asked_by,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }


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
        "verdict": "good" if judgement.is_good else "bad",
        "judged_by": judgement.judged_by if shows_name else "",
        "judged_at": judgement.judged_at,
    }
