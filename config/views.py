"""Views of the search page, the concepts page and the health checks."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from core.exceptions import StrataError
from indexing.exceptions import PointsLost
from indexing.models import IndexBuild
from indexing.stores import get_store

LIVE = {"status": "live"}


@require_safe
@ensure_csrf_cookie
def search_page(request: HttpRequest) -> HttpResponse:
    """The page holds no data: its script asks the API, with the reader's key or session."""
    return render(request, "search.html")


@require_safe
@ensure_csrf_cookie
def concepts_page(request: HttpRequest) -> HttpResponse:
    """Draws the concepts near a query; like the search page, it holds no data."""
    return render(request, "concepts.html")


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """Liveness check: always 200."""
    return JsonResponse(LIVE)


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Readiness check: 200 if the database and the vector store answer, else 503. With ``?index=``
    it asks in addition whether that index has all its points."""
    checks = {"database": "ok", "vectors": "ok"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        checks["database"] = str(error)
    try:
        get_store().ping()
    except StrataError as error:
        checks["vectors"] = error.with_fix()
    if "index" in request.GET and checks["database"] == "ok":
        checks["index"] = _check_index(request.GET["index"])
    is_ready = set(checks.values()) == {"ok"}
    body = {"status": "ready" if is_ready else "unavailable", "checks": checks}
    return JsonResponse(body, status=200 if is_ready else 503)


def _check_index(name: str) -> str:
    build = IndexBuild.objects.live().filter(index=name).first()
    if build is None:
        return "There is no such index, or no build of it is live."
    return str(PointsLost()) if build.lost_at else "ok"
