"""URLs of summaries below ``api/v1/``."""

from core.routes import api_paths
from summaries.viewsets import ArtifactSummaryView, PageSummaryView

urlpatterns = [
    *api_paths("pages/<uuid:page_id>/summary_candidate", PageSummaryView),
    *api_paths("artifacts/<uuid:artifact_id>/summary_candidate", ArtifactSummaryView),
]
