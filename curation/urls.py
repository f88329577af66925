"""Routes of edits of documents, below ``api/v1/``."""

from core.routes import api_paths
from curation.viewsets import EditViewSet

EDITS = "indexes/<str:index>/edits/"
EDIT = "edits/<uuid:edit_id>/"

urlpatterns = [
    *api_paths(EDITS, EditViewSet, {"get": "list", "post": "create"}),
    *api_paths(f"{EDITS}preview", EditViewSet, {"post": "preview"}),
    *api_paths(EDIT, EditViewSet, {"get": "retrieve"}),
    *api_paths(f"{EDIT}undo", EditViewSet, {"post": "undo"}),
]
