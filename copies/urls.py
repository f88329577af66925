"""The route of near copies, below ``api/v1/``."""

from copies.viewsets import DuplicatesViewSet
from core.routes import api_paths

urlpatterns = api_paths("indexes/<str:index>/duplicates/", DuplicatesViewSet, {"get": "list"})
