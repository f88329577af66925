"""Routes of the API."""

from typing import Any

from django.urls import URLPattern, path


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
