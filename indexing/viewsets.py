"""Indexes over HTTP: how far they are, whether they are right."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from documents.exceptions import UnknownIndex
from documents.serializers import StrictSerializer
from indexing import tasks
from indexing.models import Index, IndexBuild
from indexing.progress import index_progress
from indexing.serializers import (
    IndexListSerializer,
    IndexSerializer,
    ReportSerializer,
    VerifyAnswerSerializer,
)
from indexing.verification import verify_build


class VerifySerializer(StrictSerializer):
    repair = serializers.BooleanField(
        default=False, help_text="Plan, write or remove again whatever differs."
    )


class IndexViewSet(viewsets.ViewSet):
    """Every spec is an index; here is what each holds."""

    lookup_url_kwarg = "index"
    lookup_value_regex = "[^/]+"

    @extend_schema(responses=IndexListSerializer)
    def list(self, request: Request) -> Response:
        """Every index with its progress."""
        results = [progress.as_json() for progress in index_progress()]
        return Response({"count": len(results), "next": None, "previous": None, "results": results})

    @extend_schema(responses=IndexSerializer)
    def retrieve(self, request: Request, index: str) -> Response:
        """One index with its progress."""
        return Response(_progress_of(index))

    @extend_schema(request=VerifySerializer, responses=ReportSerializer)
    @action(detail=True, methods=["post"])
    def verify(self, request: Request, index: str) -> Response:
        """Compare documents, ledger and store of one index in both directions."""
        _progress_of(index)
        return Response(_verify(request, index)[0])


class VerifyView(APIView):
    @extend_schema(request=VerifySerializer, responses=VerifyAnswerSerializer)
    def post(self, request: Request) -> Response:
        """Compare documents, ledger and store of every index in both directions."""
        return Response({"reports": _verify(request, None)})


class SweepView(APIView):
    @extend_schema(request=None, responses={202: None})
    def post(self, request: Request) -> Response:
        """Have everything looked at that the rows say is undone, now and not within the minute."""
        tasks.wake_sweeps()
        return Response(status=status.HTTP_202_ACCEPTED)


def _verify(request: Request, index: str | None) -> list[dict[str, Any]]:
    serializer = VerifySerializer(data=request.data or {})
    serializer.is_valid(raise_exception=True)
    repair = serializer.validated_data["repair"]
    builds = IndexBuild.objects.receiving()
    if index is not None:
        builds = builds.filter(index=index)
    reports = [verify_build(build, repair=repair) for build in builds]
    if repair:
        tasks.sweep_indexes.delay()
    return [report.as_json() for report in reports]


def _progress_of(index: str) -> dict[str, Any]:
    for progress in index_progress(index, counts_unplanned=True):
        return progress.as_json()
    names = Index.objects.values_list("name", flat=True)
    raise UnknownIndex(f"There is no index named {index!r}.", field="index", allowed=names)
