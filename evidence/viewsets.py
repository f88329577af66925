"""REST endpoints of findings."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiRequest,
    PolymorphicProxySerializer,
    extend_schema,
)
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from core.http_formats import max_json_bytes
from core.openapi import operation
from evidence.search import find_similar_evidence
from evidence.serializers import (
    AddEvidenceSerializer,
    RelatedEvidenceParametersSerializer,
    SimilarEvidenceParametersSerializer,
    SingleEvidenceSerializer,
    render_decision,
    render_evidence_answer,
)
from evidence.services import add_evidence
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import enqueue_planning_of_stale_hits
from strata_types.examples import FINDING


@extend_schema(tags=["Findings"])
class EvidenceViewSet(viewsets.ViewSet):
    """Findings of research agents, without duplicates."""

    scopes = {"create": Scope.WRITE, "similar": Scope.SEARCH, "related": Scope.SEARCH}
    max_body_bytes = staticmethod(max_json_bytes)

    @operation(
        "add_evidence",
        strata_types.EvidenceVerdicts,
        body=OpenApiRequest(
            PolymorphicProxySerializer(
                component_name="AddEvidenceBody",
                serializers=[AddEvidenceSerializer, SingleEvidenceSerializer],
                resource_type_field_name=None,
            ),
            examples=[
                OpenApiExample(
                    "Several", {"items": [FINDING], "threshold": 0.9}, media_type="application/json"
                ),
                OpenApiExample("One", FINDING, media_type="application/json"),
            ],
        ),
    )
    def create(self, request: Request, index: str) -> Response:
        """Add findings, except duplicates of findings that are stored.

        Each gets a verdict: added, duplicate (with the stored finding and the similarity), or
        updated (the URL was known with other content or another citation). After an error none is
        stored.
        """
        given = AddEvidenceSerializer.read(request.data)
        decisions = add_evidence(
            index, given["items"], threshold=given.get("threshold"), grant=get_grant(request)
        )
        return Response({"verdicts": [render_decision(each) for each in decisions]})

    @operation(
        "find_similar_evidence",
        strata_types.EvidenceAnswer,
        query=SimilarEvidenceParametersSerializer,
        errors=[409],
    )
    def similar(self, request: Request, index: str) -> Response:
        """Find findings similar to a query, most similar first."""
        content = read_query_string(request.query_params)
        parameters = SimilarEvidenceParametersSerializer.read(content)
        return _search(request, index, parameters)

    @operation(
        "find_related_evidence",
        strata_types.EvidenceAnswer,
        body=RelatedEvidenceParametersSerializer,
        errors=[409],
    )
    def related(self, request: Request, index: str) -> Response:
        """Find findings similar to a query, except those at the given URLs.

        A finding that nearly repeats a better hit, which names it in ``similar_to``, gives way to
        others: it is a hit only if fewer than ``limit`` others have half the score of the best.
        """
        parameters = RelatedEvidenceParametersSerializer.read(request.data)
        return _search(request, index, {**parameters, "diversify": True})


def _search(request: Request, index: str, parameters: dict[str, Any]) -> Response:
    found = find_similar_evidence(index, grant=get_grant(request), **parameters)
    enqueue_planning_of_stale_hits(found.answer.stale_ids)
    return Response(render_evidence_answer(found))
