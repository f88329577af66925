"""Where the read side answers, below ``api/v1/``."""

from django.urls import path

from retrieval.ask_views import answer_question
from retrieval.pipeline_views import PipelineListView
from retrieval.viewsets import (
    HierarchicalSearchView,
    PageSearchView,
    QuestionSearchView,
    SourceView,
    SummarySearchView,
    ToolListView,
    ToolView,
)

SEARCHES = {
    "pages": PageSearchView,
    "summaries": SummarySearchView,
    "questions": QuestionSearchView,
    "hierarchical": HierarchicalSearchView,
}

urlpatterns = [
    *(
        path(f"search/{kind}", view.as_view(), name=f"search-{kind}")
        for kind, view in SEARCHES.items()
    ),
    # POST does not survive a redirect.
    *(path(f"search/{kind}/", view.as_view(schema=None)) for kind, view in SEARCHES.items()),
    path("ask", answer_question, name="ask"),
    path("indexes/<str:index>/tools/", ToolListView.as_view(), name="tool-list"),
    path("indexes/<str:index>/tools/<str:name>/", ToolView.as_view(), name="tool"),
    path("indexes/<str:index>/tools/<str:name>", ToolView.as_view(schema=None)),
    path("pipelines/", PipelineListView.as_view(), name="pipeline-list"),
    path("sources/<uuid:source_id>/", SourceView.as_view(), name="source"),
]
