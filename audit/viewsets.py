"""REST endpoints of the audit log, for callers who may manage and see everything."""

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import viewsets
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsEverything
from access.grants import Scope
from access.permissions import find_larger_grant
from audit.models import AuditRow, Subject
from audit.serializers import (
    AuditFilterSerializer,
    AuditPageSerializer,
    iter_csv,
    render_change,
    render_row,
)
from audit.services import erase_subjects, iter_rows, select_changes, verify_chain
from core.http_formats import IgnoreAcceptHeader
from core.openapi import operation
from core.paging import narrow, paginate
from core.serializers import PagingSerializer
from documents.viewsets import ARTIFACT_ID, get_visible_artifact


@extend_schema(tags=["Documents"])
class ChangesViewSet(viewsets.ViewSet):
    """The rows about one document, for all who see it."""

    scopes = Scope.SEARCH

    @operation("list_changes", strata_types.ChangeList, path=[ARTIFACT_ID], query=PagingSerializer)
    def list(self, request: Request, artifact_id: str) -> Response:
        """List the changes of an artifact, newest first.

        They are rows of the audit log, which keeps them for a time and has none for what a command
        wrote to the database itself. Names are only for callers with the scope `manage` for it.
        """
        artifact = get_visible_artifact(request, artifact_id)
        parameters = PagingSerializer.read(request.query_params)
        page, answer = paginate(request, select_changes(str(artifact.pk)), parameters)
        with_name = artifact.is_visible_to(find_larger_grant(request, Scope.MANAGE))
        answer["results"] = [render_change(row, with_name=with_name) for row in page]
        return Response(answer)


@extend_schema(tags=["Audit"])
class AuditViewSet(NeedsEverything, viewsets.ViewSet):
    """Rows of the audit log. Nobody changes them; their age removes them."""

    scopes = Scope.MANAGE
    content_negotiation_class = IgnoreAcceptHeader

    @operation("list_audit", strata_types.AuditRowList, query=AuditPageSerializer)
    def list(self, request: Request) -> Response:
        """List who did what, newest first."""
        parameters = AuditPageSerializer.read(request.query_params)
        page, answer = paginate(request, _select_rows(parameters), parameters)
        return Response({**answer, "results": [render_row(row) for row in page]})

    @extend_schema(
        operation_id="export_audit",
        parameters=[AuditFilterSerializer],
        responses={(200, "text/csv"): OpenApiTypes.BINARY},
    )
    def export(self, request: Request) -> StreamingHttpResponse:
        """Export the audit log as CSV, oldest first."""
        rows = _select_rows(AuditFilterSerializer.read(request.query_params))
        headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
        lines = iter_csv(iter_rows(rows))
        return StreamingHttpResponse(lines, content_type="text/csv", headers=headers)

    @operation("verify_audit", strata_types.AuditVerification)
    def verify(self, request: Request) -> Response:
        """Verify the chain of the audit log.

        Every seal is computed again. A chain that was written anew as a whole is found by comparing
        `position` and `seal` with those that you noted earlier.
        """
        return Response(verify_chain())

    @operation("erase_subject", strata_types.SubjectErasure)
    def erase(self, request: Request, subject: int) -> Response:
        """Erase a person from the audit log.

        The rows stay, but none shows the name and the address any more, for good. Later requests of
        the same key or user have another subject.
        """
        if not erase_subjects(pk=subject):
            detail = f"There is no subject {subject} in the audit log."
            raise NotFound(detail, code="unknown_subject")
        return Response({"subject": subject, "is_erased": True})


def _select_rows(parameters: dict[str, Any]) -> QuerySet[AuditRow]:
    rows = AuditRow.objects.select_related("subject")
    if "key" in parameters:
        rows = rows.filter(subject__kind=Subject.Kind.KEY)
    lookups = {"since": "at__gte", "until": "at__lt", "key": "subject__number"}
    return narrow(rows, parameters, "index", **lookups)
