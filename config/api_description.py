"""Views of the OpenAPI document and of the page that draws it."""

from functools import lru_cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from config.middleware import HEADER, POLICY_WITH_STYLES

_lock = Lock()


class SchemaView(SpectacularAPIView):
    """The OpenAPI document, as YAML or JSON; the same for every caller at the same address."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        with _lock:  # one thread makes it while others wait for it
            content = _render_document(renderer.format, request.META["SCRIPT_NAME"])
        return HttpResponse(content, content_type=f"{renderer.media_type}; charset=utf-8")


class DocsView(SpectacularSwaggerSplitView):
    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        response[HEADER] = POLICY_WITH_STYLES  # Swagger UI has styles in its page
        return response


@lru_cache(maxsize=8)
def _render_document(format: str, base_path: str) -> str | bytes:
    """Once for each process and format, because it takes half a second."""
    schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    if base_path:
        schema["servers"] = [{"url": base_path}]
    [renderer, *_] = [each for each in SchemaView.renderer_classes if each.format == format]
    return renderer().render(schema, renderer_context={})
