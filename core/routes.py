"""Routes of the API."""

import re
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import URLPattern, path, register_converter
from django.urls.converters import IntConverter
from django.views import View


class KeyIdConverter(IntConverter):
    regex = "[0-9]{1,18}"  # what a row's id can be


register_converter(KeyIdConverter, "key_id")


def api_paths(
    route: str, view: Any, actions: dict[str, str] | None = None, *, name: str = ""
) -> list[URLPattern]:
    """A route with and without a slash at its end: a redirect would turn a POST into a GET.

    ``actions``: for a viewset, its actions by method.
    """
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    given = [] if actions is None else [actions]
    return [
        path(route, view.as_view(*given), name=name),
        path(other, view.as_view(*given, schema=None)),
    ]


def describe_route(request: HttpRequest) -> tuple[str, str]:
    """The method and the route of a request, without what a caller puts into them."""
    assert request.resolver_match is not None
    is_known = str(request.method).lower() in View.http_method_names
    return (
        str(request.method) if is_known else "other",
        _shorten_route(request.resolver_match.route),
    )


@cache
def _shorten_route(route: str) -> str:
    """``^indexes/(?P<index>[^/]+)/$`` and ``indexes/<str:index>/`` give ``/indexes/<index>``."""
    named = re.sub(r"\(\?P<(\w+)>[^)]*\)|<\w+:(\w+)>", r"<\1\2>", route)
    return "/" + named.replace("^", "").rstrip("$").rstrip("/")
