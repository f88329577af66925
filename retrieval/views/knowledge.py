"""REST endpoints that search concepts, relationship types and sources."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from concepts.emergent_pairs import accept_pair, dismiss_pair
from concepts.models import EmergentPair, Relationship
from concepts.serializers import EVIDENCE_DISCLAIMER, RelationshipSerializer, render_relationship
from concepts.viewsets import get_concept, require_index
from core.paging import paginate
from core.serializers import StrictSerializer
from retrieval.knowledge import bridges, concept_evidence, concepts, graph, routing, sources
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.search_responses import SearchResponse
from retrieval.serializers import knowledge_answers as answers
from retrieval.serializers import knowledge_requests as requests
from retrieval.serializers import knowledge_schema as schema
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import (
    SearchView,
    describe_search,
    enqueue_planning_of_stale_artifacts,
    make_response,
)


class KnowledgeView(SearchView):
    """Base of the views that search with one query over nodes of one or several kinds."""

    parameters: type[StrictSerializer] = requests.KnowledgeQuerySerializer

    def answer(self, parameters: Any) -> SearchResponse:
        given = requests.read_parameters(self.parameters, parameters)
        nearest = KnowledgeQuery(given["index"], given["query"])
        content = self.search(nearest, given)
        return SearchResponse(content, nearest.stale_artifact_ids)

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@describe_search(
    "search_concepts",
    "Search concepts",
    requests.PagedKnowledgeQuerySerializer,
    schema.ConceptSearchAnswerSerializer,
)
class ConceptSearchView(KnowledgeView):
    parameters = requests.PagedKnowledgeQuerySerializer
    __doc__ = f"Concepts by their meaning, each with quotes that bear it. {EVIDENCE_DISCLAIMER}"

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        found = concepts.search_concepts(
            nearest,
            limit=given["limit"],
            offset=given["offset"],
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_concept_hits(nearest, found)


@describe_search(
    "search_relationships",
    "Search relationships",
    requests.PagedKnowledgeQuerySerializer,
    schema.RelationshipTypeSearchAnswerSerializer,
)
class RelationshipTypeSearchView(KnowledgeView):
    """Search relationship types by meaning, each with its relationships."""

    parameters = requests.PagedKnowledgeQuerySerializer

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        found = concepts.search_relationship_types(
            nearest,
            limit=given["limit"],
            offset=given["offset"],
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_relationship_type_hits(nearest, found)


@describe_search(
    "search_sources",
    "Search sources",
    requests.SourceQuerySerializer,
    schema.SourceSearchAnswerSerializer,
)
class SourceSearchView(KnowledgeView):
    """Sources by the chunks of them that match, with offsets to highlight."""

    parameters = requests.SourceQuerySerializer

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        found = sources.search_sources(
            nearest,
            limit=given["limit"],
            min_similarity=given.get("min_similarity"),
            window=given["window"],
            with_concepts=given["include_concepts"],
        )
        return answers.render_source_hits(nearest, found)


@describe_search(
    "route_query",
    "Find the best entry point",
    requests.KnowledgeQuerySerializer,
    schema.RoutingAnswerSerializer,
)
class QueryRoutingView(KnowledgeView):
    """Concepts, sources and relationship types near a query; `entry` names the nearest of all."""

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        routes = routing.route_query(
            nearest, limit=given["limit"], min_similarity=given.get("min_similarity")
        )
        return answers.render_routing(nearest, routes)


@describe_search(
    "blend_concepts",
    "Search concepts in every way",
    requests.BlendQuerySerializer,
    schema.ConceptSearchAnswerSerializer,
)
class ConceptBlendView(KnowledgeView):
    parameters = requests.BlendQuerySerializer
    __doc__ = (
        "Concepts by their meaning, by sources that bear them and by the types of their "
        f"relationships; each once, by the best of its ways. {EVIDENCE_DISCLAIMER}"
    )

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        weights = routing.BlendWeights(
            given["concept_weight"], given["source_weight"], given["relationship_weight"]
        )
        found = routing.blend_concepts(
            nearest,
            limit=given["limit"],
            weights=weights,
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_concept_hits(nearest, found)


@describe_search(
    "search_subgraph",
    "Draw the subgraph",
    requests.SubgraphQuerySerializer,
    schema.SubgraphAnswerSerializer,
)
class SubgraphView(KnowledgeView):
    """Concepts, sources and types over a threshold, and the relationships among them."""

    parameters = requests.SubgraphQuerySerializer

    def search(self, nearest: KnowledgeQuery, given: Mapping[str, Any]) -> dict[str, Any]:
        found = graph.search_subgraph(
            nearest, threshold=given["min_similarity"], limit=given["limit"]
        )
        return answers.render_subgraph(nearest, found)


class ConceptEvidenceView(APIView):
    @extend_schema(
        operation_id="read_evidence",
        description="The quotes of a concept, those nearest to `query` first. "
        + EVIDENCE_DISCLAIMER,
        parameters=[requests.EvidenceParametersSerializer],
        responses=schema.ConceptEvidenceAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(concept_id, read_query_string(request.query_params))

    @extend_schema(
        operation_id="read_evidence_by_body",
        description=f"The same, with the parameters in the body. {EVIDENCE_DISCLAIMER}",
        request=requests.EvidenceParametersSerializer,
        responses=schema.ConceptEvidenceAnswerSerializer,
    )
    def post(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(concept_id, request.data)

    def _respond(self, concept_id: UUID, content: Any) -> Response:
        given = requests.read_parameters(requests.EvidenceParametersSerializer, content)
        concept = get_concept(concept_id)
        ranked = concept_evidence.rank_instances(concept, given.get("query"))
        page = ranked[given["offset"] : given["offset"] + given["limit"]]
        hits = answers.render_ranked_instances(page)
        return Response(
            {
                "index": concept.artifact.index,
                "concept": {"id": str(concept.pk), "label": concept.label},
                "count": len(ranked),
                "hits": hits,
            }
        )


class ConceptContextView(APIView):
    @extend_schema(
        operation_id="read_concept_context",
        parameters=[requests.ContextParametersSerializer],
        responses=schema.ConceptContextAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """The sources that quote a concept, with their neighbours."""
        content = read_query_string(request.query_params)
        given = requests.read_parameters(requests.ContextParametersSerializer, content)
        concept = get_concept(concept_id)
        sources = concept_evidence.read_concept_context(concept, **given)
        return Response(
            {
                "index": concept.artifact.index,
                "concept": {"id": str(concept.pk), "label": concept.label},
                "sources": answers.render_concept_context(sources),
            }
        )


class ConceptPathsView(APIView):
    @extend_schema(
        operation_id="find_paths",
        parameters=[requests.PathParametersSerializer],
        responses=schema.PathsAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """Chains of relationships from a concept whose types are similar to the given words."""
        content = read_query_string(request.query_params)
        given = dict(requests.read_parameters(requests.PathParametersSerializer, content))
        concept = get_concept(concept_id)
        index = concept.artifact.index
        paths, asked = graph.find_paths(index, concept.pk, given.pop("like"), **given)
        for nearest in asked:
            enqueue_planning_of_stale_artifacts(nearest.stale_artifact_ids)
        return Response(
            {
                "index": index,
                "concept": {"id": str(concept.pk), "label": concept.label},
                "paths": answers.render_paths(paths),
            }
        )


class SimilarSourcesView(APIView):
    @extend_schema(
        operation_id="find_similar_sources",
        parameters=[requests.SimilarSourcesParametersSerializer],
        responses=schema.SourceSearchAnswerSerializer,
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Sources of one or several indexes that are similar to a given source."""
        content = read_query_string(request.query_params)
        given = requests.read_parameters(requests.SimilarSourcesParametersSerializer, content)
        index, vector = sources.compute_source_vector(source_id)
        names = given.get("index") or [index]
        KnowledgeQuery([index, *names], vector=vector)  # of one model, or it says so
        nearest = KnowledgeQuery(names, vector=vector)
        found = sources.search_sources(
            nearest,
            limit=given["limit"],
            min_similarity=given.get("min_similarity"),
            window=given["window"],
            excluded_source_id=source_id,
        )
        content = answers.render_source_hits(nearest, found)
        return make_response(SearchResponse(content, nearest.stale_artifact_ids))


class EmergentPairListView(APIView):
    @extend_schema(
        operation_id="list_emergent",
        parameters=[requests.EmergentParametersSerializer],
        responses=schema.EmergentPairListSerializer,
    )
    def get(self, request: Request) -> Response:
        """Pairs of similar concepts without a relationship, most similar first, with the sources
        that bridge them."""
        content = read_query_string(request.query_params)
        given = dict(requests.read_parameters(requests.EmergentParametersSerializer, content))
        require_index(given["index"])
        pairs = EmergentPair.objects.filter(first__artifact__index=given["index"])
        pairs = pairs.open() if given["state"] == "open" else pairs.dismissed()
        if "min_similarity" in given:
            pairs = pairs.filter(similarity__gte=given["min_similarity"])
        page, answer = paginate(request, pairs.select_related("first__artifact", "second"), given)
        shown = list(page)
        found = bridges.find_bridges(
            given["index"], shown, min_similarity=given["bridge_similarity"]
        )
        results = [answers.render_emergent_pair(pair, found.get(pair.pk, [])) for pair in shown]
        return Response({**answer, "results": results})


class EmergentPairAcceptView(APIView):
    @extend_schema(
        operation_id="accept_emergent",
        request=requests.AcceptPairSerializer,
        responses={201: RelationshipSerializer},
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Create a relationship from a pair; the pair is then no longer open."""
        given = requests.read_parameters(requests.AcceptPairSerializer, request.data)
        edge = accept_pair(pair_id, given["type"], is_reversed=given["reversed"])
        named = Relationship.objects.with_concepts_and_type().get(pk=edge.pk)
        return Response(render_relationship(named), status=status.HTTP_201_CREATED)


class EmergentPairDismissView(APIView):
    @extend_schema(
        operation_id="dismiss_emergent", request=None, responses=schema.EmergentPairSerializer
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Dismiss a pair, so that it is no longer listed as open."""
        return Response(answers.render_emergent_pair(dismiss_pair(pair_id)))
