"""Clients of the API for tests."""

from rest_framework.test import APIClient

from access.models import ApiKey


def client_with_key() -> APIClient:
    _, secret = ApiKey.issue("tests")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
