"""URL routes of questions and pipelines, below ``api/v1/``."""

from django.urls import path

from answers.views.ask import answer_question
from answers.views.pipelines import PipelineListView

urlpatterns = [
    path("ask", answer_question, name="ask"),
    path("pipelines/", PipelineListView.as_view(), name="pipeline-list"),
]
