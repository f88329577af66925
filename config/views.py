"""The health checks."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from access.authentication import get_grant, get_scope
from access.grants import Grant
from config.health import NEEDED_TO_SERVE, OK, check_parts
from indexing.exceptions import PointsLost
from indexing.models import IndexBuild

LIVE = {"status": "live"}
UNAVAILABLE = "unavailable"


@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Liveness check: always 200."""
    return JsonResponse(LIVE)


class ReadyView(APIView):
    """Readiness check: 503 if the database or the vector store does not answer, else 200.

    ``problems`` names the parts that are not well. If searches work without them, the status is
    ``degraded``. With a key it shows the checks, and with ``?index=`` also checks whether that
    index has all its points.
    """

    permission_classes = ()
    throttle_classes = ()  # monitoring sends many requests
    schema = None

    def perform_authentication(self, request: Request) -> None:
        """Do nothing: reading a key needs the database, which ``get`` checks first."""

    def get(self, request: Request) -> JsonResponse:
        checks = check_parts()
        is_authenticated = "vectors" in checks and get_scope(request) is not None
        if "index" in request.query_params and "vectors" in checks:
            if not is_authenticated:
                raise NotAuthenticated
            checks["index"] = _check_index(request.query_params["index"], get_grant(request))
        problems = [part for part, state in checks.items() if state != OK]
        is_unavailable = bool(NEEDED_TO_SERVE.intersection(problems))
        status = UNAVAILABLE if is_unavailable else "degraded" if problems else "ready"
        body: dict[str, object] = {"status": status, "problems": problems}
        shown = {"checks": checks} if is_authenticated else {}
        return JsonResponse(body | shown, status=503 if is_unavailable else 200)


def _check_index(name: str, grant: Grant) -> str:
    build = IndexBuild.objects.live().filter(index=name).first()
    if build is None or not grant.includes(name):
        return "There is no such index, or no build of it is live."
    return str(PointsLost()) if build.lost_at else OK
