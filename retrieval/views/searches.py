"""Searches, tools and sources over HTTP."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiRequest, extend_schema_view
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from core.openapi import operation
from core.paging import render_whole_list
from documents.models import Artifact
from indexing.models import Node
from indexing.signals import make_due_and_enqueue, plan_standalone_and_enqueue
from retrieval.all_searches import SEARCHES, SearchResponse, run_search
from retrieval.facets import count_field_values
from retrieval.hooks import judge_search
from retrieval.request_cache import keep_for_request
from retrieval.serializers.answers import render_tool_answer
from retrieval.serializers.requests import (
    MAX_VECTOR_BYTES,
    FacetParametersSerializer,
    read_query_string,
)
from retrieval.tools import list_tools, prepare_tool_call


class SearchView(APIView):
    """A search of ``SEARCHES``, with its parameters in the query string or in the body."""

    name: ClassVar[str]
    scopes = Scope.SEARCH
    is_public_search = True

    @staticmethod
    def max_body_bytes(content_type: str) -> int:
        return 2**16 + MAX_VECTOR_BYTES

    def get(self, request: Request) -> Response:
        return self._respond(request, read_query_string(request.query_params))

    def post(self, request: Request) -> Response:
        return self._respond(request, request.data)

    def _respond(self, request: Request, parameters: Any) -> Response:
        return make_response(run_search(self.name, parameters, get_grant(request)))


def make_search_view(name: str) -> type[SearchView]:
    """Make the view of one search, with GET and POST described in the OpenAPI document."""
    search = SEARCHES[name]
    view = type(f"{name.title()}SearchView", (SearchView,), {"name": name})
    described: dict[str, Any] = {
        "errors": [404, 409], "description": search.description, "tags": ["Search"]
    }  # fmt: skip
    describe: Callable[[type[SearchView]], type[SearchView]] = extend_schema_view(
        get=operation(
            search.operation_id,
            search.answer,
            query=search.parameters,
            summary=search.summary,
            **described,
        ),
        post=operation(
            f"{search.operation_id}_by_body",
            search.answer,
            body=search.parameters,
            summary=f"{search.summary}, with the parameters in the body",
            **described,
        ),
    )
    return describe(view)


class ToolViewSet(viewsets.ViewSet):
    """The tools an index declares, for an agent to choose from and to call."""

    scopes = Scope.SEARCH
    is_public_search = True

    @operation("list_tools", strata_types.ToolList, tags=["Search"])
    def list(self, request: Request, index: str) -> Response:
        """List the tools of an index."""
        tools = list_tools(index, get_grant(request))
        return Response(render_whole_list([asdict(tool) for tool in tools]))

    @operation(
        "call_tool",
        strata_types.ToolAnswer,
        body=OpenApiRequest(
            OpenApiTypes.OBJECT,
            examples=[OpenApiExample("Example", {"exercise": "nordic curl", "limit": 5})],
        ),
        tags=["Search"],
    )
    def call(self, request: Request, index: str, name: str) -> Response:
        """Call a tool with its arguments."""
        call = prepare_tool_call(index, name, request.data, get_grant(request))
        with keep_for_request():
            answer, step = call.search()
            relevance = judge_search(
                [index], answer.text or call.query, call.grant, notes=answer.notes
            )
        rendered = render_tool_answer(call, answer, step, relevance)
        return make_response(SearchResponse(rendered, answer.stale_ids))


class FacetsView(APIView):
    """How often each value of the declared fields occurs."""

    scopes = Scope.SEARCH
    is_public_search = True

    @operation(
        "count_field_values",
        strata_types.FacetAnswer,
        query=FacetParametersSerializer,
        tags=["Search"],
    )
    def get(self, request: Request, index: str) -> Response:
        """Count the values of the declared metadata fields.

        Of keyword, integer and bool fields, the most frequent values first.
        """
        given = FacetParametersSerializer.read(read_query_string(request.query_params))
        filter, limit = given.get("filter"), given["limit"]
        return Response(count_field_values(index, filter, limit, get_grant(request)))


def make_response(answered: SearchResponse) -> Response:
    enqueue_planning_of_stale_hits(answered.stale_ids)
    response = Response(answered.content)
    response.add_post_render_callback(_break_reference_cycle)
    return response


def _break_reference_cycle(response: Any) -> None:
    """Let the rendered answer be freed with its request. DRF's view and response refer to each
    other, so all hits would stay in memory until the garbage collector runs.
    """
    del response.renderer_context["view"].response
    response.renderer_context = {}


def enqueue_planning_of_stale_hits(stale_ids: Iterable[UUID]) -> None:
    """Enqueue planning of stale artifacts and standalone nodes, each at most once per
    STRATA_RECONCILE_SECONDS.

    While planning is delayed, every search that finds them would enqueue it again and flood the
    broker. Without a broker, the reconciliation finds them later.
    """
    seconds = settings.STRATA_RECONCILE_SECONDS
    new_ids = [each for each in stale_ids if cache.add(f"planning-{each}", True, seconds)]
    if not new_ids:  # an empty query takes as long to build as one with ids
        return
    for artifact_id, index in Artifact.objects.filter(pk__in=new_ids).values_list("pk", "index"):
        make_due_and_enqueue(artifact_id, index)
    nodes = Node.objects.in_live_builds().filter(artifact=None, point_id__in=new_ids)
    for kind, index, point_id in nodes.values_list("kind", "build__index", "point_id"):
        plan_standalone_and_enqueue(kind, index, point_id)
