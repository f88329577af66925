"""URLs of summaries below ``api/v1/``, with and without a trailing slash."""

from django.urls import path

from summaries.viewsets import ArtifactSummaryView, PageSummaryView

PAGE_SUMMARY_PATH = "pages/<uuid:page_id>/summary_candidate"
ARTIFACT_SUMMARY_PATH = "artifacts/<uuid:artifact_id>/summary_candidate"

urlpatterns = [
    path(PAGE_SUMMARY_PATH, PageSummaryView.as_view(), name="page-summary"),
    path(f"{PAGE_SUMMARY_PATH}/", PageSummaryView.as_view(schema=None)),
    path(ARTIFACT_SUMMARY_PATH, ArtifactSummaryView.as_view(), name="artifact-summary"),
    path(f"{ARTIFACT_SUMMARY_PATH}/", ArtifactSummaryView.as_view(schema=None)),
]
