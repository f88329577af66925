"""URLs of summaries below ``api/v1/``."""

from django.urls import path

from core.routes import api_paths
from summaries.viewsets import ArtifactSummaryView, ChunkQuestionsView, PageSummaryView, RetryView

urlpatterns = [
    path("indexes/<str:index>/retry/", RetryView.as_view(), name="index-retry"),
    *api_paths("pages/<uuid:page_id>/summary_candidate", PageSummaryView),
    *api_paths("artifacts/<uuid:artifact_id>/summary_candidate", ArtifactSummaryView),
    *api_paths("chunks/<uuid:chunk_id>/questions", ChunkQuestionsView),
]
