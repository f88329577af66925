"""Every route of the URL configuration, with its methods and the operations they call."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Route:
    """``view``: the class of an API view; None for other views. ``operation``: the name of the
    action or of the method."""

    path: str  # of the URL configuration
    method: str
    view: Any
    operation: str

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def parameters(self) -> list[str]:
        return re.findall(r"<(?:\w+:)?(\w+)>", self.path)

    def url(self, values: Mapping[str, Any]) -> str:
        """The address with these values of its parameters."""
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(values[match[1]]), self.path)


def list_routes() -> list[Route]:
    return sorted(set(_walk(get_resolver().url_patterns, "")), key=str)


def _walk(patterns: Any, prefix: str) -> Iterator[Route]:
    for each in patterns:
        path = prefix + _plain(str(each.pattern))
        if isinstance(each, URLResolver):
            if each.app_name != "admin":  # Django's own permissions
                yield from _walk(each.url_patterns, path)
        else:
            assert isinstance(each, URLPattern)
            yield from _list_methods(path, each.callback)


def _list_methods(path: str, callback: Any) -> Iterator[Route]:
    view = getattr(callback, "cls", None)
    if view is None:
        yield Route(path, "get", None, "")
        return
    for method in METHODS:
        actions = getattr(callback, "actions", None)
        if actions is not None and method in actions:
            yield Route(path, method, view, actions[method])
        elif actions is None and hasattr(view, method):
            yield Route(path, method, view, method)


def _plain(pattern: str) -> str:
    """A pattern of a router, which is a regular expression, as a route."""
    return (
        re.sub(r"\(\?P<(\w+)>(?:\[[^\]]*\]|[^)])*\)", r"<\1>", pattern)
        .strip("^$")
        .replace("\\Z", "")
        .removesuffix("$")
    )
