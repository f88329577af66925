"""URL routes of searches, tools and sources, below ``api/v1/``."""

from django.urls import path

from core.routes import api_paths
from retrieval.all_searches import SEARCHES
from retrieval.views.searches import FacetsView, ToolViewSet, make_search_view
from retrieval.views.sources import PagePassagesView, SourceView
from retrieval.views.text_vectors import EmbedView

urlpatterns = [
    *(each for name in SEARCHES for each in api_paths(f"search/{name}", make_search_view(name))),
    *api_paths("indexes/<str:index>/facets", FacetsView),
    *api_paths("indexes/<str:index>/embed", EmbedView),
    path("indexes/<str:index>/tools/", ToolViewSet.as_view({"get": "list"}), name="tool-list"),
    *api_paths("indexes/<str:index>/tools/<str:name>/", ToolViewSet, {"post": "call"}, name="tool"),
    path("sources/<uuid:source_id>/", SourceView.as_view(), name="source"),
    path("pages/<uuid:page_id>/passages", PagePassagesView.as_view(), name="page-passages"),
]
