"""The client with which searches are sent here."""

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey


@pytest.fixture
def client(db):
    """A client with a key, and with CSRF checks as in browser sessions."""
    _, secret = ApiKey.issue("tests")
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
