from django.urls import path
from rest_framework.routers import SimpleRouter

from core.routes import api_paths
from indexing.viewsets.builds import BuildViewSet, IndexChangeViewSet
from indexing.viewsets.indexes import IndexViewSet, OperationViewSet
from indexing.viewsets.specs import SpecView

router = SimpleRouter()
router.register("indexes", IndexViewSet, basename="index")
builds = SimpleRouter()
builds.register(r"indexes/(?P<index>[^/]+)/builds", BuildViewSet, basename="build")
change_index = IndexChangeViewSet.as_view

urlpatterns = [
    path("verify/", OperationViewSet.as_view({"post": "verify"}), name="verify"),
    path("reconcile/", OperationViewSet.as_view({"post": "reconcile"}), name="reconcile"),
    path("indexes/<str:index>/spec/", SpecView.as_view(), name="index-spec"),
    path("indexes/<str:index>/plan/", change_index({"get": "plan"}), name="index-plan"),
    path(
        "indexes/<str:index>/rollback/", change_index({"post": "roll_back"}), name="index-rollback"
    ),
    path("indexes/<str:index>/prune/", change_index({"post": "prune"}), name="index-prune"),
    *builds.urls,
    *router.urls,
    *api_paths("regenerate/", OperationViewSet, {"post": "regenerate"}),
]
