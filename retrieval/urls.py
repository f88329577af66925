"""URL routes of searches, questions, tools, pipelines and sources, below ``api/v1/``."""

from django.urls import path

from retrieval.views.ask import answer_question
from retrieval.views.knowledge import (
    ConceptBlendView,
    ConceptContextView,
    ConceptEvidenceView,
    ConceptPathsView,
    ConceptSearchView,
    EmergentPairAcceptView,
    EmergentPairDismissView,
    EmergentPairListView,
    QueryRoutingView,
    RelationshipTypeSearchView,
    SimilarSourcesView,
    SourceSearchView,
    SubgraphView,
)
from retrieval.views.pipelines import PipelineListView
from retrieval.views.searches import (
    HierarchicalSearchView,
    ImageSearchView,
    PageSearchView,
    QuestionSearchView,
    SourceView,
    StructureSearchView,
    SummarySearchView,
    ToolListView,
    ToolView,
)

SEARCH_VIEWS = {
    "pages": PageSearchView,
    "summaries": SummarySearchView,
    "questions": QuestionSearchView,
    "hierarchical": HierarchicalSearchView,
    "structures": StructureSearchView,
    "images": ImageSearchView,
    "concepts": ConceptSearchView,
    "relationships": RelationshipTypeSearchView,
    "sources": SourceSearchView,
    "route": QueryRoutingView,
    "blend": ConceptBlendView,
    "subgraph": SubgraphView,
}

KNOWLEDGE_VIEWS = {
    "concepts/<uuid:concept_id>/evidence": ConceptEvidenceView,
    "concepts/<uuid:concept_id>/context": ConceptContextView,
    "concepts/<uuid:concept_id>/paths": ConceptPathsView,
    "sources/<uuid:source_id>/similar": SimilarSourcesView,
    "emergent": EmergentPairListView,
    "emergent/<uuid:pair_id>/accept": EmergentPairAcceptView,
    "emergent/<uuid:pair_id>/dismiss": EmergentPairDismissView,
}

urlpatterns = [
    *(
        path(f"search/{kind}", view.as_view(), name=f"search-{kind}")
        for kind, view in SEARCH_VIEWS.items()
    ),
    # Routed with and without the slash: a redirect would lose the body of a POST.
    *(path(f"search/{kind}/", view.as_view(schema=None)) for kind, view in SEARCH_VIEWS.items()),
    *(path(route, view.as_view()) for route, view in KNOWLEDGE_VIEWS.items()),
    *(path(f"{route}/", view.as_view(schema=None)) for route, view in KNOWLEDGE_VIEWS.items()),
    path("ask", answer_question, name="ask"),
    path("indexes/<str:index>/tools/", ToolListView.as_view(), name="tool-list"),
    path("indexes/<str:index>/tools/<str:name>/", ToolView.as_view(), name="tool"),
    path("indexes/<str:index>/tools/<str:name>", ToolView.as_view(schema=None)),
    path("pipelines/", PipelineListView.as_view(), name="pipeline-list"),
    path("sources/<uuid:source_id>/", SourceView.as_view(), name="source"),
]
