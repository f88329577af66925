"""URL routes of concepts and relationships, below ``api/v1/``."""

from typing import Any

from django.urls import path
from rest_framework.viewsets import ViewSet

from concepts.viewsets import (
    ConceptViewSet,
    InstanceViewSet,
    RelationshipTypeViewSet,
    RelationshipViewSet,
)

DETAIL_ACTIONS = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
LIST_ACTIONS = {"get": "list", "post": "create"}
ROUTES: list[tuple[str, type[ViewSet], dict[str, Any]]] = [
    ("indexes/<str:index>/concepts/", ConceptViewSet, LIST_ACTIONS),
    ("concepts/<uuid:concept_id>/", ConceptViewSet, DETAIL_ACTIONS),
    ("concepts/<uuid:concept_id>/merge", ConceptViewSet, {"post": "merge"}),
    (
        "concepts/<uuid:concept_id>/instances/",
        ConceptViewSet,
        {"get": "instances", "post": "add_instance"},
    ),
    ("instances/<uuid:instance_id>/", InstanceViewSet, {"delete": "destroy"}),
    ("indexes/<str:index>/relationship-types/", RelationshipTypeViewSet, LIST_ACTIONS),
    ("relationship-types/<uuid:type_id>/", RelationshipTypeViewSet, DETAIL_ACTIONS),
    ("indexes/<str:index>/relationships/", RelationshipViewSet, LIST_ACTIONS),
    (
        "relationships/<uuid:relationship_id>/",
        RelationshipViewSet,
        {"get": "retrieve", "delete": "destroy"},
    ),
]

urlpatterns = []
for route, viewset, actions in ROUTES:
    # With and without a trailing slash: a redirect would turn a POST into a GET.
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    urlpatterns += [
        path(route, viewset.as_view(actions)),
        path(other, viewset.as_view(actions, schema=None)),
    ]
