"""Measurements and verdicts over HTTP."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from core.enqueueing import enqueue_on_commit
from core.paging import paged
from core.serializers import (
    ErrorSerializer,
    StrictSerializer,
)
from evaluation import tasks
from evaluation.exceptions import UnknownJudgement, UnknownRun
from evaluation.history import describe_run, earlier_runs
from evaluation.judgements import make_judgements
from evaluation.measuring import DEFAULT_MEASURES
from evaluation.models import EvaluationRun, Judgement
from evaluation.report import render_report
from evaluation.runs import begin_run, get_run
from evaluation.serializers import (
    VERDICTS,
    EvaluateSerializer,
    EvaluationDetailSerializer,
    EvaluationListParametersSerializer,
    EvaluationListSerializer,
    EvaluationSerializer,
    JudgementListParametersSerializer,
    JudgementListSerializer,
    JudgementSerializer,
    JudgeSerializer,
    _render_judgement,
)
from evaluation.services import judge, take_back

# --- Measurements ----------------------------------------------------------------------------


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
        enqueue_on_commit(tasks.measure_run, run_id=str(run.pk))
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


def _read(serializer: type[StrictSerializer], given: Any) -> dict[str, Any]:
    reader = serializer(data=given)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)
