"""Where summaries are, below ``api/v1/``; with and without the slash at the end."""

from django.urls import path

from summaries.viewsets import ArtifactSummaryView, PageSummaryView

PAGE = "pages/<uuid:page_id>/summary_candidate"
ARTIFACT = "artifacts/<uuid:artifact_id>/summary_candidate"

urlpatterns = [
    path(PAGE, PageSummaryView.as_view(), name="page-summary"),
    path(f"{PAGE}/", PageSummaryView.as_view(schema=None)),
    path(ARTIFACT, ArtifactSummaryView.as_view(), name="artifact-summary"),
    path(f"{ARTIFACT}/", ArtifactSummaryView.as_view(schema=None)),
]
