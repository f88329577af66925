"""Clients of the API for tests."""

import itertools
from typing import Any

import httpx
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from access.models import ApiKey, GroupRights

_numbers = itertools.count()


class RecordingServer:
    """A fake running server, which accepts each request and does nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []  # method and path below ``/api/v1/``
        self.awaited: list[Any] = []

    def open_client(self, timeout: float, path: str) -> httpx.Client:
        transport = httpx.MockTransport(self._answer)
        return httpx.Client(base_url=f"http://server.example{path}", transport=transport)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path.removeprefix('/api/v1/')}")
        return httpx.Response(202)


def client_with_key(**rights: Any) -> APIClient:
    """A client with a new key, which may do everything unless ``rights`` of ``ApiKey.issue`` say
    otherwise."""
    _, secret = ApiKey.issue(f"tests {next(_numbers)}", **rights)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def session_with_rights(*rights: dict[str, Any]) -> APIClient:
    """A client in which a new user is signed in who is in a group for each of these rights."""
    user = User.objects.create_user(f"tests {next(_numbers)}")
    for each in rights:
        group = Group.objects.create(name=f"tests {next(_numbers)}")
        GroupRights.objects.create(group=group, **each)
        user.groups.add(group)
    client = APIClient()
    client.force_login(user)
    return client
