"""Routes of the documents API, below ``api/v1/``."""

from typing import Any

from django.urls import URLPattern, path

from documents.viewsets import ArtifactViewSet, StreamedArtifactViewSet

ROUTES: list[tuple[str, type[ArtifactViewSet], dict[str, Any]]] = [
    ("indexes/<str:index>/artifacts/", ArtifactViewSet, {"get": "list", "post": "create"}),
    ("indexes/<str:index>/artifacts/batch", StreamedArtifactViewSet, {"post": "batch"}),
    (
        "artifacts/<str:artifact_id>/",
        ArtifactViewSet,
        {"get": "retrieve", "patch": "partial_update", "delete": "destroy"},
    ),
    ("artifacts/<str:artifact_id>/content", ArtifactViewSet, {"put": "content"}),
    ("artifacts/<str:artifact_id>/original", StreamedArtifactViewSet, {"get": "original"}),
    ("artifacts/<str:artifact_id>/pages/", ArtifactViewSet, {"get": "pages"}),
    ("artifacts/<str:artifact_id>/pages/<str:page_index>/", ArtifactViewSet, {"get": "page"}),
]

urlpatterns: list[URLPattern] = []
for route, viewset, actions in ROUTES:
    # With and without a slash at the end, because a redirect would turn a POST into a GET.
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    name = f"artifact-{next(reversed(actions.values())).replace('_', '-')}"
    urlpatterns += [
        path(route, viewset.as_view(actions), name=name),
        path(other, viewset.as_view(actions, schema=None)),
    ]
