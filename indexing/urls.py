from django.urls import path
from rest_framework.routers import SimpleRouter

from core.routes import api_paths
from indexing.viewsets.builds import BuildViewSet, PlanView, PruneView, RollBackView
from indexing.viewsets.indexes import IndexViewSet, ReconcileView, RegenerateView, VerifyView
from indexing.viewsets.specs import SpecView

router = SimpleRouter()
router.register("indexes", IndexViewSet, basename="index")
builds = SimpleRouter()
builds.register(r"indexes/(?P<index>[^/]+)/builds", BuildViewSet, basename="build")

urlpatterns = [
    path("verify/", VerifyView.as_view(), name="verify"),
    path("reconcile/", ReconcileView.as_view(), name="reconcile"),
    path("indexes/<str:index>/spec/", SpecView.as_view(), name="index-spec"),
    path("indexes/<str:index>/plan/", PlanView.as_view(), name="index-plan"),
    path("indexes/<str:index>/rollback/", RollBackView.as_view(), name="index-rollback"),
    path("indexes/<str:index>/prune/", PruneView.as_view(), name="index-prune"),
    *builds.urls,
    *router.urls,
    *api_paths("regenerate/", RegenerateView),
]
