"""Clients of the API for tests."""

import itertools
from typing import Any

from rest_framework.test import APIClient

from access.models import ApiKey

_numbers = itertools.count()


def client_with_key(**rights: Any) -> APIClient:
    """A client with a new key, which may do everything unless ``rights`` of ``ApiKey.issue`` say
    otherwise."""
    _, secret = ApiKey.issue(f"tests {next(_numbers)}", **rights)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
