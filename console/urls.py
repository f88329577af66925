"""Every page, and its address."""

from collections.abc import Callable

from django.http.response import HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView

from console.pipelines.view import pipelines_page


def show_page(name: str) -> Callable[..., HttpResponseBase]:
    """A view of a page; the template gets what stands in its address."""
    template = f"{name}/{name}.html"
    return require_safe(ensure_csrf_cookie(TemplateView.as_view(template_name=template)))


urlpatterns = [
    path("", show_page("search"), name="search-page"),
    path("add/", show_page("add"), name="add"),
    path("documents/", show_page("documents"), name="documents"),
    path("documents/<uuid:artifact_id>/", show_page("document"), name="document"),
    path("indexes/", show_page("indexes"), name="indexes"),
    path("work/", show_page("work"), name="work"),
    path("keys/", show_page("keys"), name="keys"),
    path("concepts/", show_page("concepts"), name="concepts"),
    path("pipelines/", pipelines_page, name="pipelines"),
]
