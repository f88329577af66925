"""REST routes for evaluations and judgements, below ``api/v1/``."""

from typing import Any

from django.urls import path

from evaluation.viewsets import EvaluationViewSet, JudgementViewSet

ROUTES: list[tuple[str, type[EvaluationViewSet] | type[JudgementViewSet], dict[str, Any]]] = [
    ("evaluations/", EvaluationViewSet, {"get": "list", "post": "create"}),
    ("evaluations/<str:run_id>/", EvaluationViewSet, {"get": "retrieve", "delete": "destroy"}),
    ("evaluations/<str:run_id>/report", EvaluationViewSet, {"get": "report"}),
    ("judgements/", JudgementViewSet, {"get": "list", "post": "create"}),
    ("judgements/<str:judgement_id>/", JudgementViewSet, {"delete": "destroy"}),
]
URL_NAMES = {"evaluations/<str:run_id>/report": "evaluation-report"}

urlpatterns = []
for route, viewset, actions in ROUTES:
    # With and without the slash at the end: a redirect would turn a POST into a GET.
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    urlpatterns += [
        path(route, viewset.as_view(actions), name=URL_NAMES.get(route, "")),
        path(other, viewset.as_view(actions, schema=None)),
    ]
