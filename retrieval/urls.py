"""URL routes of searches, questions, tools, pipelines and sources, below ``api/v1/``."""

from django.urls import path
from rest_framework.views import APIView

from retrieval.views.ask import answer_question
from retrieval.views.knowledge import (
    ConceptContextView,
    ConceptEvidenceView,
    ConceptPathsView,
    EmergentPairAcceptView,
    EmergentPairDismissView,
    EmergentPairListView,
    SimilarSourcesView,
)
from retrieval.views.pipelines import PipelineListView
from retrieval.views.searches import SourceView, ToolListView, ToolView, make_search_view

VIEWS: dict[str, type[APIView]] = {
    "search/pages": make_search_view("pages"),
    "search/summaries": make_search_view("summaries"),
    "search/questions": make_search_view("questions"),
    "search/hierarchical": make_search_view("hierarchical"),
    "search/structures": make_search_view("structures"),
    "search/images": make_search_view("images"),
    "search/concepts": make_search_view("concepts"),
    "search/relationships": make_search_view("relationships"),
    "search/sources": make_search_view("sources"),
    "search/route": make_search_view("route"),
    "search/blend": make_search_view("blend"),
    "search/subgraph": make_search_view("subgraph"),
    "concepts/<uuid:concept_id>/evidence": ConceptEvidenceView,
    "concepts/<uuid:concept_id>/context": ConceptContextView,
    "concepts/<uuid:concept_id>/paths": ConceptPathsView,
    "sources/<uuid:source_id>/similar": SimilarSourcesView,
    "emergent": EmergentPairListView,
    "emergent/<uuid:pair_id>/accept": EmergentPairAcceptView,
    "emergent/<uuid:pair_id>/dismiss": EmergentPairDismissView,
}

urlpatterns = [
    *(path(route, view.as_view()) for route, view in VIEWS.items()),
    # Routed with and without the slash: a redirect would lose the body of a POST.
    *(path(f"{route}/", view.as_view(schema=None)) for route, view in VIEWS.items()),
    path("ask", answer_question, name="ask"),
    path("indexes/<str:index>/tools/", ToolListView.as_view(), name="tool-list"),
    path("indexes/<str:index>/tools/<str:name>/", ToolView.as_view(), name="tool"),
    path("indexes/<str:index>/tools/<str:name>", ToolView.as_view(schema=None)),
    path("pipelines/", PipelineListView.as_view(), name="pipeline-list"),
    path("sources/<uuid:source_id>/", SourceView.as_view(), name="source"),
]
