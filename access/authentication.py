"""Authenticate requests by an API key in ``Authorization: Bearer``, over MCP also by the token of
an application; what a key, a token or a session may do and see."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.request import split_domain_port
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from access.client_address import get_client_address
from access.grants import EVERYTHING, Grant, Scope, UserRights, list_public_indexes
from access.models import ACCESS, SCOPES, ApiKey, Authorization, GroupRights, hash_secret, is_random
from access.usage_limits import count_wrong_key, require_few_wrong_keys
from core import running_server

# Made at each start: no other process can send it.
MCP_HEADER: Final = "X-Strata-Mcp"
MCP_SECRET: Final = secrets.token_urlsafe()


ACTING_FOR: Final = "strata.acting_for"  # in META


def act_for(request: HttpRequest, user: User | None, name: str = "") -> None:
    """Note for whom a request without key and session acts: who signs in or tries to, or allowed
    the application that sends it. It has a row in the audit log, whatever its method. ``user``:
    None if nobody has the name that was given. ``name``: shown instead of the user's."""
    request.META[ACTING_FOR] = (user.pk, name or user.get_username()) if user else (0, "")


class _User:
    """A ``request.user`` without a row, password or session."""

    __slots__ = ()
    name: str
    is_authenticated: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False
    is_active: ClassVar[bool] = True
    is_staff: ClassVar[bool] = False
    is_superuser: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ApiKeyUser(_User):
    """The ``request.user`` of a request with an API key. ``key_id`` is None for the server's own
    key."""

    name: str
    key_id: int | None
    scope: Scope
    pk: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class ApplicationUser(_User):
    """The ``request.user`` of a request with the token of an application: named as the user who
    allowed the application these rights."""

    name: str
    pk: int
    rights: UserRights


_accepted: set[tuple[str, str]] = set()  # addresses, and the hashes of keys that they have used
MAX_ACCEPTED = 10_000


@contextmanager
def _guarded_against_guesses(address: str | None, secret: str) -> Iterator[None]:
    """Look no key up that somebody may guess for an address that has sent many wrong ones, except
    those that it has used before. Others may have the same address: those that Strata makes cannot
    be guessed, and are always looked up.

    Raises:
        TooManyWrongKeys: as ``require_few_wrong_keys``.
    """
    if address is None:  # all clients of the proxy would be one
        yield
        return
    sent = (address, hash_secret(secret))
    if sent not in _accepted and not is_random(secret):
        require_few_wrong_keys(address)
    try:
        yield
    except AuthenticationFailed:
        _accepted.discard(sent)
        count_wrong_key(address)
        raise
    if len(_accepted) >= MAX_ACCEPTED:
        _accepted.clear()
    _accepted.add(sent)


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticate by API key: one database query a request, none for the server's own key.
    ``request.auth`` is the key's grant.

    Tokens of applications are only for MCP. REST accepts them in the requests of this process's MCP
    endpoint, which send ``MCP_SECRET``.
    """

    def authenticate(self, request: Request) -> tuple[ApiKeyUser | ApplicationUser, Any] | None:
        scheme, _, secret = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        secret = secret.strip()
        if running_server.is_key_of_this_process(secret):
            return ApiKeyUser("this server", None, Scope.MANAGE), EVERYTHING
        with _guarded_against_guesses(get_client_address(request), secret):
            return self._authenticate(request, secret)

    def _authenticate(
        self, request: Request, secret: str
    ) -> tuple[ApiKeyUser | ApplicationUser, Any]:
        if secret.startswith(ACCESS) and self.accepts_tokens(request):
            return self._authenticate_application(request, secret)
        rights = ApiKey.find_by_secret(secret)
        if rights is None:
            raise AuthenticationFailed(
                "This key is unknown, has expired or has been revoked.", code="unknown_key"
            )
        return ApiKeyUser(rights.name, rights.id, rights.scope), rights.grant

    def accepts_tokens(self, request: Request) -> bool:
        sent = request.headers.get(MCP_HEADER, "").encode()
        return secrets.compare_digest(sent, MCP_SECRET.encode())

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    def _authenticate_application(
        self, request: Request, token: str
    ) -> tuple[ApplicationUser, None]:
        found = Authorization.objects.find(ACCESS, token)
        if found is None or not has_oauth(request) or found.resource != get_resource(request):
            raise AuthenticationFailed(
                "This token is unknown, has expired, has been revoked or is for another service.",
                code="unknown_token",
            )
        return ApplicationUser(str(found.user), found.user_id, found.rights), None


class McpAuthentication(ApiKeyAuthentication):
    """For the MCP endpoint: also by token. The answer 401 names the metadata (RFC 9728), where the
    application learns how to get one."""

    def accepts_tokens(self, request: Request) -> bool:
        return True

    def authenticate_header(self, request: Request) -> str:
        if not has_oauth(request):
            return "Bearer"
        url = f"{get_issuer(request)}/.well-known/oauth-protected-resource/mcp"
        error = 'error="invalid_token", ' if get_authorization_header(request) else ""
        return f'Bearer {error}resource_metadata="{url}", scope="{" ".join(SCOPES)}"'


def has_oauth(request: HttpRequest | Request) -> bool:
    """Whether applications can ask for tokens: over a connection that nobody can read."""
    host, _ = split_domain_port(request.get_host())
    is_private = request.is_secure() or host in settings.STRATA_LOOPBACK_HOSTS
    return settings.STRATA_MCP_OAUTH and is_private


def get_issuer(request: HttpRequest | Request) -> str:
    """The authorization server, as the request names the service."""
    return f"{request.scheme}://{request.get_host()}{request.META['SCRIPT_NAME']}"


def get_resource(request: HttpRequest | Request) -> str:
    """The address of the MCP endpoint, for which the tokens are."""
    return f"{get_issuer(request)}/mcp"


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
    if isinstance(request.user, ApplicationUser):
        return request.user.rights
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
