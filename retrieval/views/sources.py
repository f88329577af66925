"""Sources over HTTP, and what was made of a page's sources."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from core.openapi import operation
from core.paging import paginate
from documents.services import require_page
from retrieval.serializers.answers import render_source_context
from retrieval.serializers.requests import (
    PassageKindSerializer,
    SourceParametersSerializer,
    read_query_string,
)
from retrieval.source_context import list_passages, read_source_context, render_passage


class SourceView(APIView):
    """A source in full, with its neighbours and the offsets of its chunks."""

    scopes = Scope.SEARCH

    @operation(
        "read_source", strata_types.Source, query=SourceParametersSerializer, tags=["Documents"]
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Read a source with its neighbours."""
        content = read_query_string(request.query_params)
        parameters = SourceParametersSerializer.read(content)
        context = read_source_context(source_id, get_grant(request), **parameters)
        return Response(render_source_context(context))


class PagePassagesView(APIView):
    """What the live build made of a page."""

    scopes = Scope.SEARCH

    @operation(
        "list_page_passages",
        strata_types.PagePassageList,
        query=PassageKindSerializer,
        tags=["Documents"],
    )
    def get(self, request: Request, page_id: UUID) -> Response:
        """List the passages of a page: its chunks, the questions that they answer, or other quotes.

        In the order of the page. Offsets are positions in the source.
        """
        parameters = PassageKindSerializer.read(request.query_params)
        grant = get_grant(request)
        require_page(page_id, grant)
        rows = list_passages(page_id, parameters["kind"], grant)
        page, answer = paginate(request, rows, parameters)
        return Response({**answer, "results": [render_passage(row) for row in page]})
