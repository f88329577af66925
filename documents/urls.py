"""Routes of the documents API, below ``api/v1/``."""

from core.routes import api_paths
from documents.viewsets import ArtifactViewSet, StreamedArtifactViewSet

INDEX = "indexes/<str:index>/artifacts/"
ARTIFACT = "artifacts/<str:artifact_id>/"
PAGE = f"{ARTIFACT}pages/<str:page_index>/"

urlpatterns = [
    *api_paths(INDEX, ArtifactViewSet, {"get": "list", "post": "create"}),
    *api_paths(f"{INDEX}batch", StreamedArtifactViewSet, {"post": "batch"}),
    *api_paths(
        ARTIFACT,
        ArtifactViewSet,
        {"get": "retrieve", "patch": "partial_update", "delete": "destroy"},
    ),
    *api_paths(f"{ARTIFACT}content", ArtifactViewSet, {"put": "content"}),
    *api_paths(f"{ARTIFACT}original", StreamedArtifactViewSet, {"get": "original"}),
    *api_paths(f"{ARTIFACT}pages/", ArtifactViewSet, {"get": "pages"}),
    *api_paths(PAGE, ArtifactViewSet, {"get": "page"}),
    *api_paths(f"{PAGE}unseen", ArtifactViewSet, {"get": "unseen"}),
    *api_paths(f"{PAGE}picture", StreamedArtifactViewSet, {"get": "picture"}),
    *api_paths(f"{PAGE}boxes", ArtifactViewSet, {"get": "boxes"}),
]
