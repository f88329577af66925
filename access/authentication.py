"""Authenticate requests by an API key in ``Authorization: Bearer``."""

from dataclasses import dataclass
from typing import ClassVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from access.grants import EVERYTHING, Grant
from access.models import ApiKey
from core import running_server


@dataclass(frozen=True, slots=True)
class ApiKeyUser:
    """The ``request.user`` of a request with an API key; it has no row, password or session."""

    name: str
    is_authenticated: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False
    is_active: ClassVar[bool] = True
    is_staff: ClassVar[bool] = False
    is_superuser: ClassVar[bool] = False
    pk: ClassVar[None] = None

    def __str__(self) -> str:
        return self.name


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticate by API key: one database query a request, none for the server's own key."""

    def authenticate(self, request: Request) -> tuple[ApiKeyUser, None] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        secret = secret.strip()
        if running_server.is_key_of_this_process(secret):
            return ApiKeyUser("this server"), None
        name = ApiKey.find_name_by_secret(secret)
        if name is None:
            raise AuthenticationFailed(
                "This key is unknown or has been revoked.", code="unknown_key"
            )
        return ApiKeyUser(name), None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def get_grant(request: Request) -> Grant:
    """Grant everything: each key and each person who may log in is an administrator."""
    return EVERYTHING


class ApiKeyAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document describes API keys; defining the class registers it."""

    target_class = ApiKeyAuthentication
    name = "key"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, made by `manage.py key create NAME`.",
        }
