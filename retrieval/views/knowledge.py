"""Searches of concepts, relationships and passages over HTTP."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from concepts.emergence import accept_pair, dismiss_pair
from concepts.models import EmergentPair, Relationship
from concepts.serializers import NOT_TRUTH, RelationshipSerializer, render_relationship
from concepts.viewsets import check_index, find_concept
from core.paging import paged
from core.serializers import StrictSerializer
from retrieval.answering import Answered
from retrieval.knowledge import bearing, bridges, concepts, entries, graph, passages
from retrieval.knowledge.nearest import Nearest
from retrieval.serializers import knowledge_answers as answers
from retrieval.serializers import knowledge_requests as requests
from retrieval.serializers import knowledge_schema as schema
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import SearchView, described, enqueue_planning, respond


class KnowledgeView(SearchView):
    """One query, against nodes of one or several kinds."""

    parameters: type[StrictSerializer] = requests.KnowledgeQuerySerializer

    def answer(self, parameters: Any) -> Answered:
        given = requests.read_parameters(self.parameters, parameters)
        nearest = Nearest(given["index"], given["query"])
        content = self.search(nearest, given)
        return Answered(content, nearest.stale_artifact_ids)

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@described(
    "search_concepts",
    "Search concepts",
    requests.PagedKnowledgeSerializer,
    schema.ConceptSearchAnswerSerializer,
)
class ConceptSearchView(KnowledgeView):
    parameters = requests.PagedKnowledgeSerializer
    __doc__ = f"Concepts by their meaning, each with quotes that bear it. {NOT_TRUTH}"

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        found = concepts.search_concepts(
            nearest,
            limit=given["limit"],
            offset=given["offset"],
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_concept_hits(nearest, found)


@described(
    "search_relationships",
    "Search relationships",
    requests.PagedKnowledgeSerializer,
    schema.TypeSearchAnswerSerializer,
)
class RelationshipSearchView(KnowledgeView):
    """Relationship types by their meaning, each with the relationships of it."""

    parameters = requests.PagedKnowledgeSerializer

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        found = concepts.search_types(
            nearest,
            limit=given["limit"],
            offset=given["offset"],
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_type_hits(nearest, found)


@described(
    "search_sources",
    "Search sources",
    requests.SourceSearchSerializer,
    schema.SourceSearchAnswerSerializer,
)
class SourceSearchView(KnowledgeView):
    """Sources by the chunks of them that match, with offsets to highlight."""

    parameters = requests.SourceSearchSerializer

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        found = passages.search_sources(
            nearest,
            limit=given["limit"],
            min_similarity=given.get("min_similarity"),
            window=given["window"],
            with_concepts=given["include_concepts"],
        )
        return answers.render_source_hits(nearest, found)


@described(
    "route_query",
    "Find the best entry point",
    requests.KnowledgeQuerySerializer,
    schema.RouteAnswerSerializer,
)
class RouteView(KnowledgeView):
    """Concepts, sources and relationship types near a query; `entry` names the nearest of all."""

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        routes = entries.route_query(
            nearest, limit=given["limit"], min_similarity=given.get("min_similarity")
        )
        return answers.render_routes(nearest, routes)


@described(
    "blend_concepts",
    "Search concepts in every way",
    requests.BlendSerializer,
    schema.ConceptSearchAnswerSerializer,
)
class BlendView(KnowledgeView):
    parameters = requests.BlendSerializer
    __doc__ = (
        "Concepts by their meaning, by sources that bear them and by the types of their "
        f"relationships; each once, by the best of its ways. {NOT_TRUTH}"
    )

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        weights = entries.Weights(
            given["concept_weight"], given["source_weight"], given["relationship_weight"]
        )
        found = entries.blend_concepts(
            nearest,
            limit=given["limit"],
            weights=weights,
            min_similarity=given.get("min_similarity"),
        )
        return answers.render_concept_hits(nearest, found)


@described(
    "search_subgraph",
    "Draw the subgraph",
    requests.SubgraphSerializer,
    schema.SubgraphAnswerSerializer,
)
class SubgraphView(KnowledgeView):
    """Concepts, sources and types over a threshold, and the relationships among them."""

    parameters = requests.SubgraphSerializer

    def search(self, nearest: Nearest, given: Mapping[str, Any]) -> dict[str, Any]:
        found = graph.search_subgraph(
            nearest, threshold=given["min_similarity"], limit=given["limit"]
        )
        return answers.render_subgraph(nearest, found)


class ConceptEvidenceView(APIView):
    @extend_schema(
        operation_id="read_evidence",
        description=f"The quotes of a concept, those nearest to `query` first. {NOT_TRUTH}",
        parameters=[requests.EvidenceParametersSerializer],
        responses=schema.EvidenceAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(concept_id, read_query_string(request.query_params))

    @extend_schema(
        operation_id="read_evidence_by_body",
        description=f"The same, with the parameters in the body. {NOT_TRUTH}",
        request=requests.EvidenceParametersSerializer,
        responses=schema.EvidenceAnswerSerializer,
    )
    def post(self, request: Request, concept_id: UUID) -> Response:
        return self._respond(concept_id, request.data)

    def _respond(self, concept_id: UUID, content: Any) -> Response:
        given = requests.read_parameters(requests.EvidenceParametersSerializer, content)
        concept = find_concept(concept_id)
        ranked = bearing.rank_evidence(concept, given.get("query"))
        page = ranked[given["offset"] : given["offset"] + given["limit"]]
        hits = answers.render_evidence(page)
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
        responses=schema.ContextAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """The sources that bear a concept, with their neighbours."""
        content = read_query_string(request.query_params)
        given = requests.read_parameters(requests.ContextParametersSerializer, content)
        concept = find_concept(concept_id)
        sources = bearing.read_context(concept, **given)
        return Response(
            {
                "index": concept.artifact.index,
                "concept": {"id": str(concept.pk), "label": concept.label},
                "sources": answers.render_context(sources),
            }
        )


class ConceptPathsView(APIView):
    @extend_schema(
        operation_id="find_paths",
        parameters=[requests.PathParametersSerializer],
        responses=schema.PathsAnswerSerializer,
    )
    def get(self, request: Request, concept_id: UUID) -> Response:
        """Chains of relationships from a concept whose types are like some words."""
        content = read_query_string(request.query_params)
        given = dict(requests.read_parameters(requests.PathParametersSerializer, content))
        concept = find_concept(concept_id)
        index = concept.artifact.index
        paths, asked = graph.find_paths(index, concept.pk, given.pop("like"), **given)
        for nearest in asked:
            enqueue_planning(nearest.stale_artifact_ids)
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
        parameters=[requests.SimilarParametersSerializer],
        responses=schema.SourceSearchAnswerSerializer,
    )
    def get(self, request: Request, source_id: UUID) -> Response:
        """Sources of one or several indexes that say much the same as one."""
        content = read_query_string(request.query_params)
        given = requests.read_parameters(requests.SimilarParametersSerializer, content)
        index, vector = passages.source_vector(source_id)
        names = given.get("index") or [index]
        Nearest([index, *names], vector=vector)  # of one model, or it says so
        nearest = Nearest(names, vector=vector)
        found = passages.search_sources(
            nearest,
            limit=given["limit"],
            min_similarity=given.get("min_similarity"),
            window=given["window"],
            but_for=source_id,
        )
        content = answers.render_source_hits(nearest, found)
        return respond(Answered(content, nearest.stale_artifact_ids))


class EmergentView(APIView):
    @extend_schema(
        operation_id="list_emergent",
        parameters=[requests.EmergentParametersSerializer],
        responses=schema.EmergentListSerializer,
    )
    def get(self, request: Request) -> Response:
        """Pairs of concepts that lie near each other without a relationship, the nearest first,
        with the sources that bridge them."""
        content = read_query_string(request.query_params)
        given = dict(requests.read_parameters(requests.EmergentParametersSerializer, content))
        check_index(given["index"])
        pairs = EmergentPair.objects.filter(first__artifact__index=given["index"])
        pairs = pairs.open() if given["state"] == "open" else pairs.dismissed()
        if "min_similarity" in given:
            pairs = pairs.filter(similarity__gte=given["min_similarity"])
        page, answer = paged(request, pairs.select_related("first__artifact", "second"), given)
        shown = list(page)
        found = bridges.find_bridges(
            given["index"], shown, min_similarity=given["bridge_similarity"]
        )
        results = [answers.render_pair(pair, found.get(pair.pk, [])) for pair in shown]
        return Response({**answer, "results": results})


class EmergentAcceptView(APIView):
    @extend_schema(
        operation_id="accept_emergent",
        request=requests.AcceptSerializer,
        responses={201: RelationshipSerializer},
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Make a relationship of a pair; it is emergent no longer."""
        given = requests.read_parameters(requests.AcceptSerializer, request.data)
        edge = accept_pair(pair_id, given["type"], is_reversed=given["reversed"])
        named = Relationship.objects.named().get(pk=edge.pk)
        return Response(render_relationship(named), status=status.HTTP_201_CREATED)


class EmergentDismissView(APIView):
    @extend_schema(
        operation_id="dismiss_emergent", request=None, responses=schema.EmergentPairSerializer
    )
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Have a pair no longer shown among the open ones."""
        return Response(answers.render_pair(dismiss_pair(pair_id)))
