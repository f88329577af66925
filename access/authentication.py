"""Authenticate requests by an API key in ``Authorization: Bearer``."""

from dataclasses import dataclass
from typing import ClassVar, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from access.grants import EVERYTHING, NOTHING, Grant, Scope
from access.models import ApiKey
from access.public_indexes import list_public_indexes
from core import running_server


@dataclass(frozen=True, slots=True)
class ApiKeyUser:
    """The ``request.user`` of a request with an API key; it has no row, password or session.

    ``key_id`` is None for the server's own key.
    """

    name: str
    key_id: int | None
    scope: Scope
    is_authenticated: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False
    is_active: ClassVar[bool] = True
    is_staff: ClassVar[bool] = False
    is_superuser: ClassVar[bool] = False
    pk: ClassVar[None] = None

    def __str__(self) -> str:
        return self.name


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticate by API key: one database query a request, none for the server's own key.
    ``request.auth`` is the key's grant."""

    def authenticate(self, request: Request) -> tuple[ApiKeyUser, Grant] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        secret = secret.strip()
        if running_server.is_key_of_this_process(secret):
            return ApiKeyUser("this server", None, Scope.MANAGE), EVERYTHING
        rights = ApiKey.find_by_secret(secret)
        if rights is None:
            raise AuthenticationFailed(
                "This key is unknown, has expired or has been revoked.", code="unknown_key"
            )
        return ApiKeyUser(rights.name, rights.id, rights.scope), rights.grant

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def get_scope(request: Request) -> Scope | None:
    """The scope of the request's key, or of its session: superusers may do everything, and other
    users nothing. None also for a request without either."""
    if isinstance(request.user, ApiKeyUser):
        return request.user.scope
    return Scope.MANAGE if request.user is not None and request.user.is_superuser else None


def get_grant(request: Request) -> Grant:
    """What the request may see, read once: without a key the public indexes, and of these the
    documents without groups."""
    if request.auth is None:
        if request.user is None:
            request.auth = Grant(indexes=list_public_indexes(), groups=frozenset())
        else:
            request.auth = EVERYTHING if request.user.is_superuser else NOTHING
    return cast(Grant, request.auth)


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
