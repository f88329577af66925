from typing import Any

from django.urls import path
from rest_framework.routers import SimpleRouter

from indexing.viewsets.builds import BuildViewSet, PlanView, PruneView, RollBackView
from indexing.viewsets.indexes import IndexViewSet, ReconcileView, VerifyView
from indexing.viewsets.regenerations import RegenerationViewSet

router = SimpleRouter()
router.register("indexes", IndexViewSet, basename="index")
builds = SimpleRouter()
builds.register(r"indexes/(?P<index>[^/]+)/builds", BuildViewSet, basename="build")

REGENERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("regenerate/", {"get": "list", "post": "create"}),
    ("regenerate/<str:regeneration_id>/", {"get": "retrieve"}),
    ("regenerate/<str:regeneration_id>/cancel", {"post": "cancel"}),
]

urlpatterns = [
    path("verify/", VerifyView.as_view(), name="verify"),
    path("reconcile/", ReconcileView.as_view(), name="reconcile"),
    path("indexes/<str:index>/plan/", PlanView.as_view(), name="index-plan"),
    path("indexes/<str:index>/rollback/", RollBackView.as_view(), name="index-rollback"),
    path("indexes/<str:index>/prune/", PruneView.as_view(), name="index-prune"),
    *builds.urls,
    *router.urls,
]

for route, actions in REGENERATIONS:
    # With and without a slash at the end, because a redirect would turn a POST into a GET.
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    urlpatterns += [
        path(route, RegenerationViewSet.as_view(actions)),
        path(other, RegenerationViewSet.as_view(actions, schema=None)),
    ]
