"""REST routes for evaluations and judgements, below ``api/v1/``."""

from core.routes import api_paths
from evaluation.viewsets import EvaluationViewSet, JudgementViewSet

RUN = "evaluations/<str:run_id>/"

urlpatterns = [
    *api_paths("evaluations/", EvaluationViewSet, {"get": "list", "post": "create"}),
    *api_paths(RUN, EvaluationViewSet, {"get": "retrieve", "delete": "destroy"}),
    *api_paths(f"{RUN}report", EvaluationViewSet, {"get": "report"}, name="evaluation-report"),
    *api_paths("judgements/", JudgementViewSet, {"get": "list", "post": "create"}),
    *api_paths("judgements/<str:judgement_id>/", JudgementViewSet, {"delete": "destroy"}),
]
