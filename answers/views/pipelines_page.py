"""The page that draws the query pipelines, for superusers: it shows their parameters."""

from django.contrib.auth.decorators import user_passes_test
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from answers.views.pipelines import read_pipelines


@never_cache
@user_passes_test(lambda user: user.is_superuser, login_url="admin:login")
@require_safe
def pipelines_page(request: HttpRequest) -> HttpResponse:
    """List every pipeline; the page's script draws them from the same data."""
    pipelines, mistakes = read_pipelines()
    return render(
        request, "pipelines/pipelines.html", {"pipelines": pipelines, "mistakes": mistakes}
    )
