"""REST endpoints for evaluations and judgements."""

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Scope
from access.request_throttle import get_holder
from core.enqueueing import enqueue_on_commit
from core.http_formats import max_json_bytes
from core.openapi import operation
from core.paging import narrow, paginate
from documents.groups import is_visible
from evaluation import tasks
from evaluation.models import EvaluationRun, Judgement
from evaluation.report import REPORT_POLICY, render_report
from evaluation.runs import create_run, get_run
from evaluation.serializers import (
    EvaluationListParametersSerializer,
    EvaluationRequestSerializer,
    JudgementListParametersSerializer,
    JudgementRequestSerializer,
    render_judgement,
    render_run,
)
from evaluation.services import delete_judgement, save_judgement

# --- Evaluation runs -------------------------------------------------------------------------


@extend_schema(tags=["Evaluation"])
class EvaluationViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """Evaluation runs: search quality of an index, measured by human judgements."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "destroy": Scope.WRITE,
        "report": Scope.SEARCH,
    }
    max_body_bytes = staticmethod(max_json_bytes)

    @operation(
        "list_evaluations", strata_types.EvaluationList, query=EvaluationListParametersSerializer
    )
    def list(self, request: Request) -> Response:
        """List evaluation runs, newest first."""
        parameters = EvaluationListParametersSerializer.read(request.query_params)
        rows = get_grant(request).limit(EvaluationRun.objects.without_large_fields())
        page, answer = paginate(request, narrow(rows, parameters, "index"), parameters)
        return Response(answer | {"results": [render_run(run) for run in page]})

    @operation(
        "evaluate",
        strata_types.Evaluation,
        body=EvaluationRequestSerializer,
        status=202,
        errors=[404],
    )
    def create(self, request: Request) -> Response:
        """Request an evaluation.

        It uses the given judgements, or else the index's golden queries.
        """
        data = EvaluationRequestSerializer.read(request.data)
        get_grant(request).require(data["index"])
        run = create_run(**data, asked_by=get_holder(request))
        enqueue_on_commit(tasks.measure_run, run_id=str(run.pk))
        return Response(render_run(run), status=status.HTTP_202_ACCEPTED)

    @operation("read_evaluation", strata_types.EvaluationDetail)
    def retrieve(self, request: Request, run_id: str) -> Response:
        """Read a run with its results, and the earlier results of the same queries."""
        run = get_run(run_id, get_grant(request))
        earlier = [render_run(each) for each in EvaluationRun.objects.list_earlier(run)]
        names = ("id", "build", "finished_at", "results")
        kept = [{name: each[name] for name in names} for each in earlier]
        return Response(render_run(run) | {"earlier": kept})

    @operation("delete_evaluation", status=204)
    def destroy(self, request: Request, run_id: str) -> Response:
        """Delete an evaluation run.

        If it is running, it is cancelled.
        """
        get_run(run_id, get_grant(request)).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="read_evaluation_report",
        responses={
            (200, "text/html"): OpenApiResponse(
                OpenApiTypes.STR,
                description="An HTML page.",
                examples=[
                    OpenApiExample(
                        "Example",
                        "<!doctype html><title>Evaluation</title>",
                        media_type="text/html",
                    )
                ],
            )
        },
    )
    def report(self, request: Request, run_id: str) -> HttpResponse:
        """Read the report of a finished run as one HTML page."""
        run = get_run(run_id, get_grant(request))
        return HttpResponse(render_report(run), headers={"Content-Security-Policy": REPORT_POLICY})


# --- Judgements ------------------------------------------------------------------------------


@extend_schema(tags=["Evaluation"])
class JudgementViewSet(viewsets.ViewSet):
    """People's judgements whether hits answer their queries."""

    scopes = {"list": Scope.SEARCH, "create": Scope.WRITE, "destroy": Scope.WRITE}

    @operation(
        "list_judgements", strata_types.JudgementList, query=JudgementListParametersSerializer
    )
    def list(self, request: Request) -> Response:
        """List judgements, newest first."""
        parameters = JudgementListParametersSerializer.read(request.query_params)
        grant = get_grant(request)
        rows = grant.limit(Judgement.objects.filter(is_visible(grant, "artifact__")))
        rows = narrow(rows, parameters, "index", "query", "is_good")
        page, answer = paginate(request, rows, parameters)
        results = [render_judgement(each, grant, str(request.user)) for each in page]
        return Response(answer | {"results": results})

    @operation(
        "judge",
        strata_types.Judgement,
        body=JudgementRequestSerializer,
        status=(200, 201),
        errors=[404],
    )
    def create(self, request: Request) -> Response:
        """Judge whether a hit or an artifact answers a query.

        A later judgement of the same query and the same artifact or page replaces it.
        """
        data = JudgementRequestSerializer.read(request.data)
        grant = get_grant(request)
        grant.require(data["index"])
        judgement, is_new = save_judgement(**data, judged_by=str(request.user), grant=grant)
        answered = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        rendered = render_judgement(judgement, grant, str(request.user))
        return Response(rendered, status=answered)

    @operation("take_back_judgement", status=204)
    def destroy(self, request: Request, judgement_id: str) -> Response:
        """Delete a judgement."""
        delete_judgement(judgement_id, get_grant(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
