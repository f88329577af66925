"""Authenticate requests by an API key in ``Authorization: Bearer``; what a key or a session may do
and see."""

from dataclasses import dataclass
from typing import ClassVar

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from access.grants import EVERYTHING, Grant, Scope, UserRights, list_public_indexes
from access.models import ApiKey, GroupRights
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
    """The largest scope of the request's key, or of its session: what the groups of the user give,
    and everything to superusers. None for a request with neither, and for a user without rights."""
    if request.user is None:
        return None
    if isinstance(request.user, ApiKeyUser):
        return request.user.scope
    return _read_user_rights(request).scope


def get_grant(request: Request, needed: Scope = Scope.SEARCH) -> Grant:
    """What the request may see: without a key the public indexes, and of these the documents
    without groups; with a session what the operation may see that needs the scope ``needed``.

    Made once: the permission class calls it first, with the scope of the operation.
    """
    if not isinstance(request.auth, Grant):
        if request.user is None:
            request.auth = Grant(indexes=list_public_indexes(), groups=frozenset())
        else:
            request.auth = _read_user_rights(request).grant_for(needed)
    return request.auth


def _read_user_rights(request: Request) -> UserRights:
    """Read from the database for each request, so that a change applies to the next one."""
    if isinstance(request.auth, UserRights):
        return request.auth
    assert isinstance(request.user, User)
    rights = GroupRights.objects.of_user(request.user)
    if request.auth is None:  # else the grant of the operation is known already, and stays
        request.auth = rights
    return rights


class ApiKeyAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document describes API keys; defining the class registers it."""

    target_class = ApiKeyAuthentication
    name = "key"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, made by `strata key create NAME`.",
        }
