"""URL routes of evidence, below ``api/v1/``."""

from django.urls import path

from evidence.viewsets import EvidenceViewSet

evidence = EvidenceViewSet.as_view({"post": "create"})
similar = EvidenceViewSet.as_view({"get": "similar"})
related = EvidenceViewSet.as_view({"post": "related"})

urlpatterns = [
    path("indexes/<str:index>/evidence/", evidence, name="evidence-list"),
    path("indexes/<str:index>/evidence/similar", similar, name="evidence-similar"),
    path("indexes/<str:index>/evidence/related", related, name="evidence-related"),
]
