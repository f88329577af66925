"""Every page, and its address."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.cache import add_never_cache_headers
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView

from console.context import list_app_pages


def show_page(name: str, **values: Any) -> Callable[..., HttpResponseBase]:
    """A view of a page; the template gets what stands in its address, and these values."""
    view = TemplateView.as_view(template_name=f"{name}/{name}.html", extra_context=values)

    @wraps(view)
    def show(request: HttpRequest, **address: Any) -> HttpResponseBase:
        response = view(request, **address)
        if request.user.is_authenticated:  # else the browser shows it again after a sign-out
            add_never_cache_headers(response)
        return response

    return require_safe(ensure_csrf_cookie(show))


urlpatterns = [
    path("", show_page("search"), name="search-page"),
    path("add/", show_page("add", fetch_hosts=lambda: settings.STRATA_FETCH_HOSTS), name="add"),
    path("documents/", show_page("documents"), name="documents"),
    path("documents/<uuid:artifact_id>/", show_page("document"), name="document"),
    path("indexes/", show_page("indexes"), name="indexes"),
    path("work/", show_page("work"), name="work"),
    path("keys/", show_page("keys"), name="keys"),
    path("settings/", show_page("settings"), name="settings"),
    *(path(f"{name}/", show_page(name), name=name) for name in list_app_pages()),
]
