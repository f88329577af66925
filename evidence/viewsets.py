"""Evidence over HTTP."""

from drf_spectacular.utils import extend_schema
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from core.serializers import ErrorSerializer
from evidence.finding import find_similar
from evidence.serializers import (
    AddEvidenceSerializer,
    FoundEvidenceSerializer,
    RelatedParametersSerializer,
    SimilarParametersSerializer,
    VerdictsSerializer,
    read_items,
    read_search,
    render_decisions,
    render_found,
)
from evidence.services import add_evidence
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import enqueue_planning

REFUSED = {400: ErrorSerializer, 404: ErrorSerializer}


class EvidenceViewSet(viewsets.ViewSet):
    """Findings of research agents, each kept once."""

    @extend_schema(
        operation_id="add_evidence",
        request=AddEvidenceSerializer,
        responses={200: VerdictsSerializer, **REFUSED},
    )
    def create(self, request: Request, index: str) -> Response:
        """Add findings, but for those that say what is known.

        A verdict for each: added, duplicate (of what, and how similar), or updated (the URL was
        known with other content or another citation). All are stored, or on an error none.
        """
        items, threshold = read_items(request.data)
        return Response(render_decisions(add_evidence(index, items, threshold=threshold)))

    @extend_schema(
        operation_id="find_similar_evidence",
        parameters=[SimilarParametersSerializer],
        responses={200: FoundEvidenceSerializer, **REFUSED},
    )
    def similar(self, request: Request, index: str) -> Response:
        """Findings that say the like, nearest first."""
        given = read_search(SimilarParametersSerializer, read_query_string(request.query_params))
        found = find_similar(index, **given)
        enqueue_planning(found.answer.stale_artifact_ids)
        return Response(render_found(found))

    @extend_schema(
        operation_id="find_related_evidence",
        request=RelatedParametersSerializer,
        responses={200: FoundEvidenceSerializer, **REFUSED},
    )
    def related(self, request: Request, index: str) -> Response:
        """Findings near to a query beside those at hand: what a keyword search has missed."""
        given = read_search(RelatedParametersSerializer, request.data)
        found = find_similar(index, without_urls=given.pop("urls"), **given)
        enqueue_planning(found.answer.stale_artifact_ids)
        return Response(render_found(found))
