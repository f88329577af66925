"""The read side over HTTP. Retrievers are not imported here: they bring LlamaIndex along."""

import logging
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from kombu.exceptions import OperationalError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from indexing import tasks
from retrieval.context import read_source
from retrieval.search import search_chunks
from retrieval.serializers import (
    PageSearchAnswerSerializer,
    SearchParametersSerializer,
    SourceAnswerSerializer,
    SourceParametersSerializer,
    read_query_string,
    read_search_request,
    read_window,
    render_answer,
    render_source,
)

logger = logging.getLogger(__name__)


class PageSearchView(APIView):
    """Passages that answer a query, best first, each compared with its document as it is now."""

    @extend_schema(
        operation_id="search_pages",
        parameters=[SearchParametersSerializer],
        responses=PageSearchAnswerSerializer,
    )
    def get(self, request: Request) -> Response:
        """Search passages."""
        return self._answer(read_query_string(request.query_params))

    @extend_schema(
        operation_id="search_pages_by_body",
        request=SearchParametersSerializer,
        responses=PageSearchAnswerSerializer,
    )
    def post(self, request: Request) -> Response:
        """Search passages, with the parameters in the body."""
        return self._answer(request.data)

    def _answer(self, content: Any) -> Response:
        answer = search_chunks(read_search_request(content))
        enqueue_planning(answer.stale_artifact_ids)
        return Response(render_answer(answer))


class SourceView(APIView):
    """A passage in full, with its neighbours and where its chunks lie."""

    @extend_schema(
        operation_id="read_source",
        parameters=[SourceParametersSerializer],
        responses=SourceAnswerSerializer,
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Read a source."""
        window = read_window(request.query_params.dict())
        return Response(render_source(read_source(source_id, window=window)))


def enqueue_planning(artifact_ids: Iterable[UUID]) -> None:
    """Have stale artifacts looked at now; without a broker the sweep finds them later."""
    for artifact_id in artifact_ids:
        try:
            tasks.plan_nodes.apply_async(kwargs={"artifact_id": str(artifact_id)}, retry=False)
        except OperationalError:
            logger.warning("The broker is away; stale artifacts wait for the sweep")
            return
