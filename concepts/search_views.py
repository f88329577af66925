"""REST endpoints that search concepts, relationship types and sources."""

from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Grant, Scope
from concepts import search_answers as answers
from concepts import search_requests as requests
from concepts.emergent_pairs import accept_pair, dismiss_pair
from concepts.knowledge import concepts, emergent, graph, shared, sources
from concepts.models import Concept, EmergentPair, Relationship
from concepts.serializers import EVIDENCE_DISCLAIMER, render_relationship
from core.openapi import operation
from core.paging import paginate, render_page_head
from documents.index_catalog import require_index
from retrieval.all_searches import SearchResponse
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import enqueue_planning_of_stale_hits, make_response


@extend_schema(tags=["Concepts"])
class ConceptKnowledgeViewSet(viewsets.ViewSet):
    """What is known of one concept."""

    scopes = Scope.SEARCH

    @operation(
        "read_evidence",
        strata_types.ConceptEvidenceAnswer,
        query=requests.EvidenceParametersSerializer,
        summary="Search the quotes of a concept",
        description=f"The quotes of a concept, the nearest to `query` first. {EVIDENCE_DISCLAIMER}",
    )
    def evidence(self, request: Request, concept_id: UUID) -> Response:
        return self._search_evidence(request, concept_id, request.query_params)

    @operation(
        "read_evidence_by_body",
        strata_types.ConceptEvidenceAnswer,
        body=requests.EvidenceParametersSerializer,
        summary="Search the quotes of a concept, with the parameters in the body",
        description=f"The same, with the parameters in the body. {EVIDENCE_DISCLAIMER}",
    )
    def evidence_by_body(self, request: Request, concept_id: UUID) -> Response:
        return self._search_evidence(request, concept_id, request.data)

    def _search_evidence(self, request: Request, concept_id: UUID, content: Any) -> Response:
        parameters = requests.EvidenceParametersSerializer.read(content)
        grant = get_grant(request)
        concept = Concept.objects.require(concept_id, grant)
        ranked = concepts.rank_quotes(concept, parameters.get("query"), grant)
        page = ranked[parameters["offset"] : parameters["offset"] + parameters["limit"]]
        hits = answers.render_ranked_quotes(page)
        return self._respond(concept, count=len(ranked), hits=hits)

    @operation(
        "read_concept_context",
        strata_types.ConceptContextAnswer,
        query=requests.ContextParametersSerializer,
    )
    def context(self, request: Request, concept_id: UUID) -> Response:
        """Read the sources that quote a concept, with their neighbours."""
        parameters = requests.ContextParametersSerializer.read(request.query_params)
        concept = Concept.objects.require(concept_id, get_grant(request))
        context = concepts.read_concept_context(concept, **parameters)
        return self._respond(concept, sources=answers.render_concept_context(context))

    @operation("find_paths", strata_types.PathsAnswer, query=requests.PathParametersSerializer)
    def paths(self, request: Request, concept_id: UUID) -> Response:
        """Find chains of relationships from a concept.

        Those whose types are similar to the given words.
        """
        parameters = requests.PathParametersSerializer.read(request.query_params)
        grant = get_grant(request)
        concept = Concept.objects.require(concept_id, grant)
        paths, stale_ids = graph.find_paths(concept, grant=grant, **parameters)
        enqueue_planning_of_stale_hits(stale_ids)
        return self._respond(concept, paths=answers.render_paths(paths))

    @operation("find_shared", strata_types.SharedAnswer, query=requests.SharedParametersSerializer)
    def shared(self, request: Request) -> Response:
        """Find what several concepts share.

        The relationships between them, the concepts to which two or more of them are related, and
        the sources that quote two or more of them.
        """
        parameters = requests.SharedParametersSerializer.read(request.query_params)
        found = shared.find_shared(grant=get_grant(request), **parameters)
        return Response(answers.render_shared(found))

    def _respond(self, concept: Concept, **content: Any) -> Response:
        named = {"index": concept.index, "concept": answers.render_label(concept)}
        return Response(named | content)


class SimilarSourcesView(APIView):
    scopes = Scope.SEARCH

    @operation(
        "find_similar_sources",
        strata_types.SourceSearchAnswer,
        query=requests.SimilarSourcesParametersSerializer,
        errors=[409],
        tags=["Search"],
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Find sources similar to a given one, in one or several indexes."""
        content = read_query_string(request.query_params)
        parameters = requests.SimilarSourcesParametersSerializer.read(content)
        answer = sources.search_similar_sources(source_id, get_grant(request), **parameters)
        return make_response(SearchResponse(answers.render_hits(answer), answer.stale_ids))


@extend_schema(tags=["Concepts"])
class EmergentPairViewSet(viewsets.ViewSet):
    """Pairs of similar concepts without a relationship."""

    scopes = {"list": Scope.SEARCH, "accept": Scope.WRITE, "dismiss": Scope.WRITE}

    @operation(
        "list_emergent",
        strata_types.EmergentPairList,
        query=requests.EmergentParametersSerializer,
        errors=[404],
    )
    def list(self, request: Request) -> Response:
        """List similar concepts without a relationship.

        The most similar pairs first, with the sources that bridge them.
        """
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

    @operation(
        "accept_emergent", strata_types.Relationship, body=requests.AcceptPairSerializer, status=201
    )
    def accept(self, request: Request, pair_id: UUID) -> Response:
        """Create a relationship from an emergent pair.

        The pair is then no longer open.
        """
        data = requests.AcceptPairSerializer.read(request.data)
        grant = get_grant(request)
        edge = accept_pair(pair_id, data["type"], is_reversed=data["reversed"], grant=grant)
        named = Relationship.objects.with_concepts_and_type().get(pk=edge.pk)
        return Response(render_relationship(named), status=status.HTTP_201_CREATED)

    @operation("dismiss_emergent", strata_types.EmergentPair)
    def dismiss(self, request: Request, pair_id: UUID) -> Response:
        """Dismiss an emergent pair.

        It is no longer listed as open.
        """
        pair = dismiss_pair(pair_id, get_grant(request))
        return Response(answers.render_emergent_pair(pair))


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
