"""REST endpoints that search concepts, relationship types and sources."""

from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Grant, Scope
from concepts.emergent_pairs import accept_pair, dismiss_pair
from concepts.models import Concept, EmergentPair, Relationship
from concepts.serializers import EVIDENCE_DISCLAIMER, render_relationship
from core.openapi import ERROR, body_of
from core.paging import paginate, render_page_head
from documents.index_catalog import require_index
from retrieval.knowledge import concepts, emergent, graph, sources
from retrieval.search_table import SearchResponse
from retrieval.serializers import knowledge_answers as answers
from retrieval.serializers import knowledge_requests as requests
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import enqueue_planning_of_stale_hits, make_response


class ConceptView(APIView):
    """What is known of one concept."""

    scopes = Scope.SEARCH

    def respond(self, concept: Concept, **content: Any) -> Response:
        named = {"id": str(concept.pk), "label": concept.label}
        return Response({"index": concept.index, "concept": named, **content})


class ConceptEvidenceView(ConceptView):
    @extend_schema(
        operation_id="read_evidence",
        summary="Search the quotes of a concept",
        tags=["Concepts"],
        description="The quotes of a concept, those nearest to `query` first. "
        + EVIDENCE_DISCLAIMER,
        parameters=[requests.EvidenceParametersSerializer],
        responses=body_of(strata_types.ConceptEvidenceAnswer),
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(request, concept_id, request.query_params)

    @extend_schema(
        operation_id="read_evidence_by_body",
        summary="Search the quotes of a concept, with the parameters in the body",
        tags=["Concepts"],
        description=f"The same, with the parameters in the body. {EVIDENCE_DISCLAIMER}",
        request=requests.EvidenceParametersSerializer,
        responses=body_of(strata_types.ConceptEvidenceAnswer),
    )
    def post(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(request, concept_id, request.data)

    def _respond(self, request: Request, concept_id: UUID, content: Any) -> Response:
        parameters = requests.EvidenceParametersSerializer.read(content)
        grant = get_grant(request)
        concept = Concept.objects.require(concept_id, grant)
        ranked = concepts.rank_instances(concept, parameters.get("query"), grant)
        page = ranked[parameters["offset"] : parameters["offset"] + parameters["limit"]]
        return self.respond(concept, count=len(ranked), hits=answers.render_ranked_instances(page))


class ConceptContextView(ConceptView):
    @extend_schema(
        operation_id="read_concept_context",
        summary="Read the sources that quote a concept",
        tags=["Concepts"],
        parameters=[requests.ContextParametersSerializer],
        responses=body_of(strata_types.ConceptContextAnswer),
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """The sources that quote a concept, with their neighbours."""
        parameters = requests.ContextParametersSerializer.read(request.query_params)
        concept = Concept.objects.require(concept_id, get_grant(request))
        context = concepts.read_concept_context(concept, **parameters)
        return self.respond(concept, sources=answers.render_concept_context(context))


class ConceptPathsView(ConceptView):
    @extend_schema(
        operation_id="find_paths",
        summary="Find chains of relationships from a concept",
        tags=["Concepts"],
        parameters=[requests.PathParametersSerializer],
        responses=body_of(strata_types.PathsAnswer),
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """Chains of relationships from a concept whose types are similar to the given words."""
        parameters = requests.PathParametersSerializer.read(request.query_params)
        grant = get_grant(request)
        concept = Concept.objects.require(concept_id, grant)
        paths, queries = graph.find_paths(concept, grant=grant, **parameters)
        for knowledge_query in queries:
            enqueue_planning_of_stale_hits(knowledge_query.stale_ids)
        return self.respond(concept, paths=answers.render_paths(paths))


class SimilarSourcesView(APIView):
    scopes = Scope.SEARCH

    @extend_schema(
        operation_id="find_similar_sources",
        summary="Find sources similar to a given one",
        tags=["Search"],
        parameters=[requests.SimilarSourcesParametersSerializer],
        responses={200: body_of(strata_types.SourceSearchAnswer), 409: ERROR},
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Sources of one or several indexes that are similar to a given source."""
        content = read_query_string(request.query_params)
        parameters = requests.SimilarSourcesParametersSerializer.read(content)
        answer = sources.search_similar_sources(source_id, get_grant(request), **parameters)
        return make_response(SearchResponse(answers.render_hits(answer), answer.stale_ids))


class EmergentPairListView(APIView):
    scopes = Scope.SEARCH

    @extend_schema(
        operation_id="list_emergent",
        summary="List similar concepts without a relationship",
        tags=["Concepts"],
        parameters=[requests.EmergentParametersSerializer],
        responses={200: body_of(strata_types.EmergentPairList), 404: ERROR},
    )
    def get(self, request: Request) -> Response:
        """Pairs of similar concepts without a relationship, most similar first, with the sources
        that bridge them."""
        parameters = requests.EmergentParametersSerializer.read(request.query_params)
        grant, index = get_grant(request), parameters["index"]
        grant.require(index)
        require_index(index)
        shown, answer = _find_pairs(request, parameters, grant)
        found = emergent.find_bridges(
            index, shown, grant, min_similarity=parameters["bridge_similarity"]
        )
        results = [answers.render_emergent_pair(pair, found.get(pair.pk, [])) for pair in shown]
        return Response({**answer, "results": results})


def _find_pairs(
    request: Request, parameters: dict[str, Any], grant: Grant
) -> tuple[list[EmergentPair], dict[str, Any]]:
    """The pairs of one page, and the fields of the answer beside them."""
    min_similarity = parameters.get("min_similarity", settings.STRATA_EMERGENT_SIMILARITY)
    if parameters["state"] == "open" and min_similarity < settings.STRATA_EMERGENT_SIMILARITY:
        shown, count = emergent.compute_open_pairs(
            parameters["index"],
            grant,
            min_similarity=min_similarity,
            limit=parameters["limit"],
            offset=parameters["offset"],
        )
        return shown, render_page_head(request, count, parameters)
    pairs = EmergentPair.objects.visible_to(grant).filter(first__index=parameters["index"])
    pairs = pairs.open() if parameters["state"] == "open" else pairs.dismissed()
    if "min_similarity" in parameters:
        pairs = pairs.filter(similarity__gte=min_similarity)
    page, answer = paginate(request, pairs.select_related("first", "second"), parameters)
    return list(page), answer


class EmergentPairAcceptView(APIView):
    scopes = Scope.WRITE

    @extend_schema(
        operation_id="accept_emergent",
        summary="Create a relationship from an emergent pair",
        tags=["Concepts"],
        request=requests.AcceptPairSerializer,
        responses={201: body_of(strata_types.Relationship)},
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Create a relationship from a pair; the pair is then no longer open."""
        data = requests.AcceptPairSerializer.read(request.data)
        grant = get_grant(request)
        edge = accept_pair(pair_id, data["type"], is_reversed=data["reversed"], grant=grant)
        named = Relationship.objects.with_concepts_and_type().get(pk=edge.pk)
        return Response(render_relationship(named), status=status.HTTP_201_CREATED)


class EmergentPairDismissView(APIView):
    scopes = Scope.WRITE

    @extend_schema(
        operation_id="dismiss_emergent",
        summary="Dismiss an emergent pair",
        tags=["Concepts"],
        request=None,
        responses=body_of(strata_types.EmergentPair),
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Dismiss a pair, so that it is no longer listed as open."""
        pair = dismiss_pair(pair_id, get_grant(request))
        return Response(answers.render_emergent_pair(pair))
