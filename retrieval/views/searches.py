"""Searches over HTTP. Retrievers are not imported here, because they import LlamaIndex."""

import logging
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    PolymorphicProxySerializer,
    extend_schema,
    extend_schema_view,
)
from kombu.exceptions import OperationalError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from indexing.tasks import plan_nodes
from retrieval.search_responses import (
    SearchResponse,
    answer_hierarchical_search,
    answer_image_search,
    answer_page_search,
    answer_question_search,
    answer_structure_search,
    answer_summary_search,
    answer_tool_call,
)
from retrieval.serializers.answers import render_source_context, render_tools
from retrieval.serializers.requests import (
    HierarchicalParametersSerializer,
    ImageParametersSerializer,
    SearchParametersSerializer,
    SourceParametersSerializer,
    StructureParametersSerializer,
    SummarySearchParametersSerializer,
    read_query_string,
    read_window_parameters,
)
from retrieval.serializers.schema import (
    HierarchicalAnswerSerializer,
    ImageSearchAnswerSerializer,
    PageSearchAnswerSerializer,
    QuestionSearchAnswerSerializer,
    SourceAnswerSerializer,
    StructureSearchAnswerSerializer,
    SummarySearchAnswerSerializer,
    ToolListSerializer,
)
from retrieval.source_context import read_source_context
from retrieval.tools import list_tools
from summaries.tasks import plan_written_texts

logger = logging.getLogger(__name__)


class SearchView(APIView):
    """A search, with its parameters in the query string or in the body."""

    def answer(self, parameters: Any) -> SearchResponse:
        raise NotImplementedError

    def get(self, request: Request) -> Response:
        return self._respond(read_query_string(request.query_params))

    def post(self, request: Request) -> Response:
        return self._respond(request.data)

    def _respond(self, parameters: Any) -> Response:
        return make_response(self.answer(parameters))


def describe_search(
    name: str, what: str, parameters: type[Serializer], answer: type[Serializer]
) -> Callable[[type[SearchView]], type[SearchView]]:
    """Both ways of asking, for the OpenAPI document."""

    return extend_schema_view(
        get=extend_schema(
            operation_id=name, summary=what, parameters=[parameters], responses=answer
        ),
        post=extend_schema(
            operation_id=f"{name}_by_body",
            summary=f"{what}, with the parameters in the body",
            request=parameters,
            responses=answer,
        ),
    )


@describe_search(
    "search_pages", "Search passages", SearchParametersSerializer, PageSearchAnswerSerializer
)
class PageSearchView(SearchView):
    """Passages that answer a query, best first, each compared with its document as it is now."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_page_search(parameters)


@describe_search(
    "search_summaries",
    "Search summaries",
    SummarySearchParametersSerializer,
    SummarySearchAnswerSerializer,
)
class SummarySearchView(SearchView):
    """Summaries of pages and artifacts that answer a query, best first."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_summary_search(parameters)


@describe_search(
    "search_questions",
    "Search by question",
    SearchParametersSerializer,
    QuestionSearchAnswerSerializer,
)
class QuestionSearchView(SearchView):
    """Passages by the questions they answer, each passage once, best first."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_question_search(parameters)


@describe_search(
    "search_hierarchical",
    "Search artifacts, pages and passages at once",
    HierarchicalParametersSerializer,
    HierarchicalAnswerSerializer,
)
class HierarchicalSearchView(SearchView):
    """Artifacts that answer a query with their best pages, and up to three passages of each."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_hierarchical_search(parameters)


@describe_search(
    "search_structures",
    "Search by chemical structure",
    StructureParametersSerializer,
    StructureSearchAnswerSerializer,
)
class StructureSearchView(SearchView):
    """Artifacts that hold a structure like the one given, best first; with words besides, those
    that say such a thing too."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_structure_search(parameters)


@describe_search(
    "search_images",
    "Search images by what they show",
    ImageParametersSerializer,
    ImageSearchAnswerSerializer,
)
class ImageSearchView(SearchView):
    """Artifacts whose pictures show what the query says, best first, beside those whose passages
    say it."""

    def answer(self, parameters: Any) -> SearchResponse:
        return answer_image_search(parameters)


class ToolListView(APIView):
    """The tools an index declares, for an agent to choose from."""

    @extend_schema(operation_id="list_tools", responses=ToolListSerializer)
    def get(self, request: Request, index: str) -> Response:
        """List the tools of an index."""
        return Response(render_tools(list_tools(index)))


class ToolView(APIView):
    """One search, as the index declares it."""

    @extend_schema(
        operation_id="call_tool",
        request=OpenApiTypes.OBJECT,
        responses=PolymorphicProxySerializer(
            component_name="ToolAnswer",
            serializers=[QuestionSearchAnswerSerializer, PageSearchAnswerSerializer],
            resource_type_field_name=None,
        ),
    )
    def post(self, request: Request, index: str, name: str) -> Response:
        """Call a tool with its arguments."""
        return make_response(answer_tool_call(index, name, request.data))


class SourceView(APIView):
    """A passage in full, with its neighbours and where its chunks lie."""

    @extend_schema(
        operation_id="read_source",
        parameters=[SourceParametersSerializer],
        responses=SourceAnswerSerializer,
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Read a source."""
        window = read_window_parameters(request.query_params.dict())
        return Response(render_source_context(read_source_context(source_id, window=window)))


def make_response(answered: SearchResponse) -> Response:
    enqueue_planning_of_stale_artifacts(answered.stale_artifact_ids)
    response = Response(answered.content)
    response.add_post_render_callback(_break_reference_cycle)
    return response


def _break_reference_cycle(response: Any) -> None:
    """Once rendered, let the answer be freed with its request. DRF has view and answer name each
    other: all hits would wait for the garbage collector, and each request take fresh memory.
    """
    del response.renderer_context["view"].response
    response.renderer_context = {}


def enqueue_planning_of_stale_artifacts(artifact_ids: Iterable[UUID]) -> None:
    """Have stale artifacts looked at now, each once in a while however often it is found.

    While the work is held up, every search would send for it again and swamp the broker.
    Without a broker the reconciliation finds them later.
    """
    for artifact_id in artifact_ids:
        if not cache.add(f"planning-{artifact_id}", True, settings.STRATA_RECONCILE_SECONDS):
            continue
        try:
            for plan in (plan_nodes, plan_written_texts):
                plan.apply_async(kwargs={"artifact_id": str(artifact_id)})
        except OperationalError:
            logger.warning("The broker is away; stale artifacts wait for the reconciliation")
            return
