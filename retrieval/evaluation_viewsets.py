"""Measurements and verdicts over HTTP."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from core.enqueueing import wake_on_commit
from core.paging import paged
from core.serializers import (
    MAX_NAME_CHARS,
    ErrorSerializer,
    PagingSerializer,
    StrictSerializer,
    StringField,
)
from retrieval import tasks
from retrieval.evaluation import DEFAULT_MEASURES
from retrieval.evaluation.history import describe_run, earlier_runs
from retrieval.evaluation.judgements import make_judgements
from retrieval.evaluation.keeping import judge, take_back
from retrieval.evaluation.report import render_report
from retrieval.evaluation.runs import begin_run, get_run
from retrieval.exceptions import UnknownJudgement, UnknownRun
from retrieval.models import EvaluationRun, Judgement
from retrieval.search import MAX_QUERY_CHARS

VERDICTS = {True: "good", False: "bad"}

# --- Measurements ----------------------------------------------------------------------------


class EvaluateSerializer(StrictSerializer):
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


class EvaluationViewSet(viewsets.ViewSet):
    """What an index answers, measured by human judgements."""

    @extend_schema(
        operation_id="list_evaluations",
        parameters=[EvaluationListParametersSerializer],
        responses=EvaluationListSerializer,
    )
    def list(self, request: Request) -> Response:
        """Every measurement, the newest first."""
        given = _read(EvaluationListParametersSerializer, request.query_params)
        rows = EvaluationRun.objects.light()
        if index := given.get("index"):
            rows = rows.filter(index=index)
        page, answer = paged(request, rows, given)
        return Response(answer | {"results": [describe_run(run) for run in page]})

    @extend_schema(
        operation_id="evaluate",
        request=EvaluateSerializer,
        responses={202: EvaluationSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def create(self, request: Request) -> Response:
        """Measure systems by judgements, or by the golden queries of the index."""
        given = _read(EvaluateSerializer, request.data)
        run = begin_run(
            given["index"],
            systems=given.get("systems", ()),
            baseline=given.get("against", ""),
            measures=given.get("measures", DEFAULT_MEASURES),
            judged=make_judgements(given["queries"], given["qrels"]) if "qrels" in given else None,
            asked_by=str(request.user),
        )
        wake_on_commit(tasks.measure_run, run_id=str(run.pk))
        return Response(describe_run(run), status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="read_evaluation",
        responses={200: EvaluationDetailSerializer, 404: ErrorSerializer},
    )
    def retrieve(self, request: Request, run_id: str) -> Response:
        """How far one is, what came of it, and how the same queries did before."""
        run = _find_run(run_id)
        earlier = [describe_run(each) for each in earlier_runs(run)]
        names = ("id", "build", "finished_at", "results")
        kept = [{name: each[name] for name in names} for each in earlier]
        return Response(describe_run(run) | {"earlier": kept})

    @extend_schema(operation_id="delete_evaluation", responses={204: None, 404: ErrorSerializer})
    def destroy(self, request: Request, run_id: str) -> Response:
        """Forget a measurement; one under way is called off."""
        _find_run(run_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="read_evaluation_report",
        responses={
            (200, "text/html"): OpenApiResponse(OpenApiTypes.STR, description="A page."),
            404: ErrorSerializer,
        },
    )
    def report(self, request: Request, run_id: str) -> HttpResponse:
        """A finished measurement as one page of HTML that needs nothing else."""
        return HttpResponse(render_report(_find_run(run_id)))


def _find_run(run_id: str) -> EvaluationRun:
    try:
        return get_run(UUID(run_id))
    except ValueError:
        raise UnknownRun(field="id") from None


# --- Verdicts --------------------------------------------------------------------------------


class JudgeSerializer(StrictSerializer):
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


class JudgementViewSet(viewsets.ViewSet):
    """Whether hits answer the query they were found for, as people say."""

    @extend_schema(
        operation_id="list_judgements",
        parameters=[JudgementListParametersSerializer],
        responses=JudgementListSerializer,
    )
    def list(self, request: Request) -> Response:
        """Verdicts, the newest first."""
        given = _read(JudgementListParametersSerializer, request.query_params)
        rows = Judgement.objects.all()
        if "index" in given:
            rows = rows.filter(index=given["index"])
        if "query" in given:
            rows = rows.filter(query=given["query"])
        if "verdict" in given:
            rows = rows.filter(is_good=given["verdict"] == VERDICTS[True])
        page, answer = paged(request, rows, given)
        return Response(answer | {"results": [_render_judgement(each) for each in page]})

    @extend_schema(
        operation_id="judge",
        request=JudgeSerializer,
        responses={
            200: JudgementSerializer,
            201: JudgementSerializer,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def create(self, request: Request) -> Response:
        """Say whether a hit, or an artifact, answers a query; said again, the last counts."""
        given = _read(JudgeSerializer, request.data)
        judgement, is_new = judge(
            given["index"],
            given["query"],
            is_good=given["verdict"] == VERDICTS[True],
            judged_by=str(request.user),
            node_id=given.get("node_id"),
            artifact_id=given.get("artifact_id"),
        )
        answered = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(_render_judgement(judgement), status=answered)

    @extend_schema(operation_id="take_back_judgement", responses={204: None, 404: ErrorSerializer})
    def destroy(self, request: Request, judgement_id: str) -> Response:
        """Take a verdict back."""
        try:
            take_back(UUID(judgement_id))
        except ValueError:
            raise UnknownJudgement(field="id") from None
        return Response(status=status.HTTP_204_NO_CONTENT)


def _render_judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "id": str(judgement.pk),
        "index": judgement.index_id,
        "query": judgement.query,
        "artifact_id": str(judgement.artifact_id),
        "page_index": judgement.page_index,
        "node_id": None if judgement.node_id is None else str(judgement.node_id),
        "verdict": VERDICTS[judgement.is_good],
        "judged_by": judgement.judged_by,
        "judged_at": judgement.judged_at,
    }


def _read(serializer: type[StrictSerializer], given: Any) -> dict[str, Any]:
    reader = serializer(data=given)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)
