"""URL routes of API keys, below ``api/v1/``."""

from typing import Any

from django.urls import path, register_converter
from django.urls.converters import IntConverter

from access.viewsets import KeyViewSet


class KeyIdConverter(IntConverter):
    regex = "[0-9]{1,18}"  # what a row's id can be


register_converter(KeyIdConverter, "key_id")

ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("keys/", {"get": "list", "post": "create"}),
    ("keys/<key_id:key_id>/", {"delete": "destroy"}),
]

urlpatterns = []
for route, actions in ROUTES:
    # With and without a trailing slash: a redirect would turn a POST into a GET.
    urlpatterns += [
        path(route, KeyViewSet.as_view(actions)),
        path(route.removesuffix("/"), KeyViewSet.as_view(actions, schema=None)),
    ]
