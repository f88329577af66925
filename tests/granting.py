"""Grants for requests of tests, named by a header."""

import sys
from collections.abc import Mapping

import pytest
from django.urls import get_resolver
from rest_framework.test import APIClient

from access import authentication
from access.grants import EVERYTHING, Grant
from tests.clients import client_with_key

HEADER = "X-Grant"


def grant_by_header(monkeypatch: pytest.MonkeyPatch, grants: Mapping[str, Grant]) -> None:
    """Give each request the grant that its header names, or everything for an unknown name. A
    request without the header keeps its own grant."""
    # A view that is imported later would keep this function after the test.
    assert get_resolver().url_patterns
    original = authentication.get_grant

    def get_grant(request, *needed):
        name = request.headers.get(HEADER)
        return original(request, *needed) if name is None else grants.get(name, EVERYTHING)

    for module in list(sys.modules.values()):
        if getattr(module, "get_grant", None) is original:
            monkeypatch.setattr(module, "get_grant", get_grant)


def client_of(name: str) -> APIClient:
    """A client whose requests have the grant of this name."""
    client = client_with_key()
    client.credentials(**client._credentials, **{f"HTTP_{HEADER.upper().replace('-', '_')}": name})
    return client
