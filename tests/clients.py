"""Clients of the API for tests."""

import itertools
from typing import Any

from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from access.models import ApiKey, GroupRights

_numbers = itertools.count()


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
