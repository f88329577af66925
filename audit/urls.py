"""URL routes of the audit log, below ``api/v1/``."""

from audit.viewsets import AuditViewSet, ChangesViewSet
from core.routes import api_paths

urlpatterns = [
    *api_paths("audit/", AuditViewSet, {"get": "list"}),
    *api_paths("audit/export", AuditViewSet, {"get": "export"}),
    *api_paths("audit/verify/", AuditViewSet, {"get": "verify"}),
    *api_paths("artifacts/<str:artifact_id>/changes/", ChangesViewSet, {"get": "list"}),
    *api_paths("audit/subjects/<key_id:subject>/", AuditViewSet, {"delete": "erase"}),
]
