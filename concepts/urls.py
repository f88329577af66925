"""URL routes of concepts and relationships, and of what is found by them, below ``api/v1/``."""

from concepts.search_views import ConceptKnowledgeViewSet, EmergentPairViewSet, SimilarSourcesView
from concepts.viewsets import (
    ConceptViewSet,
    QuoteViewSet,
    RelationshipTypeViewSet,
    RelationshipViewSet,
)
from core.routes import api_paths

DETAIL_ACTIONS = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
LIST_ACTIONS = {"get": "list", "post": "create"}

urlpatterns = [
    *api_paths("indexes/<str:index>/concepts/", ConceptViewSet, LIST_ACTIONS),
    *api_paths("concepts/<uuid:concept_id>/", ConceptViewSet, DETAIL_ACTIONS),
    *api_paths("concepts/<uuid:concept_id>/merge", ConceptViewSet, {"post": "merge"}),
    *api_paths(
        "concepts/<uuid:concept_id>/instances/",
        ConceptViewSet,
        {"get": "quotes", "post": "add_quote"},
    ),
    *api_paths("instances/<uuid:instance_id>/", QuoteViewSet, {"delete": "destroy"}),
    *api_paths("indexes/<str:index>/relationship-types/", RelationshipTypeViewSet, LIST_ACTIONS),
    *api_paths("relationship-types/<uuid:type_id>/", RelationshipTypeViewSet, DETAIL_ACTIONS),
    *api_paths("indexes/<str:index>/relationships/", RelationshipViewSet, LIST_ACTIONS),
    *api_paths(
        "relationships/<uuid:relationship_id>/",
        RelationshipViewSet,
        {"get": "retrieve", "delete": "destroy"},
    ),
    *api_paths(
        "concepts/<uuid:concept_id>/evidence",
        ConceptKnowledgeViewSet,
        {"get": "evidence", "post": "evidence_by_body"},
    ),
    *api_paths("concepts/<uuid:concept_id>/context", ConceptKnowledgeViewSet, {"get": "context"}),
    *api_paths("concepts/<uuid:concept_id>/paths", ConceptKnowledgeViewSet, {"get": "paths"}),
    *api_paths("concepts/shared", ConceptKnowledgeViewSet, {"get": "shared"}),
    *api_paths("sources/<uuid:source_id>/similar", SimilarSourcesView),
    *api_paths("emergent", EmergentPairViewSet, {"get": "list"}),
    *api_paths("emergent/<uuid:pair_id>/accept", EmergentPairViewSet, {"post": "accept"}),
    *api_paths("emergent/<uuid:pair_id>/dismiss", EmergentPairViewSet, {"post": "dismiss"}),
]
