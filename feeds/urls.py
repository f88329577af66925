"""URL routes of sources, below ``api/v1/``. ``sources/`` there are passages of documents."""

from core.routes import api_paths
from feeds.viewsets import DocumentSourceViewSet

LIST = "indexes/<str:index>/document-sources/"
ONE = f"{LIST}<str:name>/"

urlpatterns = [
    *api_paths(LIST, DocumentSourceViewSet, {"get": "list"}),
    *api_paths(ONE, DocumentSourceViewSet, {"get": "retrieve"}),
    *api_paths(f"{ONE}entries/", DocumentSourceViewSet, {"get": "entries"}),
    *api_paths(f"{ONE}preview/", DocumentSourceViewSet, {"post": "preview"}),
    *api_paths(f"{ONE}run/", DocumentSourceViewSet, {"post": "run"}),
    *api_paths(f"{ONE}pause/", DocumentSourceViewSet, {"post": "pause"}),
    *api_paths(f"{ONE}resume/", DocumentSourceViewSet, {"post": "resume"}),
    *api_paths(f"{ONE}confirm/", DocumentSourceViewSet, {"post": "confirm"}),
]
