"""URL routes of findings, below ``api/v1/``."""

from core.routes import api_paths
from evidence.viewsets import EvidenceViewSet

EVIDENCE = "indexes/<str:index>/evidence/"

urlpatterns = [
    *api_paths(EVIDENCE, EvidenceViewSet, {"post": "create"}),
    *api_paths(f"{EVIDENCE}similar", EvidenceViewSet, {"get": "similar"}),
    *api_paths(f"{EVIDENCE}related", EvidenceViewSet, {"post": "related"}),
]
