"""Where the read side answers, below ``api/v1/``."""

from django.urls import path

from retrieval.viewsets import PageSearchView, SourceView

urlpatterns = [
    path("search/pages", PageSearchView.as_view(), name="search-pages"),
    path("search/pages/", PageSearchView.as_view(schema=None)),  # POST does not survive a redirect
    path("sources/<uuid:source_id>/", SourceView.as_view(), name="source"),
]
