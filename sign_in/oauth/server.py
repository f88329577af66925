"""The authorization server: Authlib's, for the authorization code grant with PKCE, the rotation of
refresh tokens, and revocation.

Strata adds what Authlib leaves out: only the challenge method S256, and the audience (RFC 8707).
"""

from collections.abc import Callable
from typing import Any, ClassVar

from authlib.integrations.django_oauth2 import AuthorizationServer, RevocationEndpoint
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from django.contrib.auth.models import User
from django.http import HttpRequest

from access.authentication import act_for, get_resource
from access.exceptions import TokenUsedTwice
from access.grants import Scope
from access.models import ACCESS, ACCESS_SECONDS, CODE, REFRESH, SCOPES, Authorization
from sign_in.oauth.clients import Client, find_registered

UNUSABLE = (
    "The code or refresh token is unknown, has expired or was used before. Ask the user again."
)
# Of errors that Authlib does not describe, or by repeating what was sent.
DESCRIPTIONS = {
    "unsupported_response_type": "response_type must be code.",
    "unsupported_grant_type": "grant_type must be authorization_code or refresh_token.",
    "unsupported_token_type": (
        "token_type_hint must be access_token or refresh_token, or left out."
    ),
    "invalid_scope": (
        "scope may hold search and write, and in a refresh no more than the user has allowed."
    ),
}


def describe_error(error: OAuth2Error) -> str:
    return DESCRIPTIONS.get(error.error) or str(error.get_error_description())


class InvalidTarget(OAuth2Error):
    """The token would be for another service (RFC 8707)."""

    error = "invalid_target"


class Server(AuthorizationServer):
    """Made for one request. ``find_client``: returns the application with an id."""

    def __init__(
        self, request: HttpRequest, find_client: Callable[[str], Client | None] = find_registered
    ) -> None:
        super().__init__(None, Authorization)
        self._request = request
        self.resource = get_resource(request)
        self.query_client = find_client
        self.scopes_supported = list(SCOPES)
        self.register_grant(CodeGrant, [PkceS256()])
        self.register_grant(RefreshGrant)
        self.register_endpoint(Revocation)

    def find_authorization(self, kind: str, token: str) -> Authorization | None:
        """That of a code or token. In the audit log, the request is its user's."""
        try:
            found = Authorization.objects.find(kind, token)
        except TokenUsedTwice as error:
            self._act_for(error.user)
            return None
        if found is not None:
            self._act_for(found.user)
        return found

    def handle_error_response(self, request: Any, error: OAuth2Error) -> Any:
        """Describe errors of the endpoints for tokens, where the application sends its id only."""
        error.description = (
            "Send the client_id of an application that is registered here, and no client_secret."
            if error.error == "invalid_client"
            else describe_error(error)
        )
        return super().handle_error_response(request, error)

    def _act_for(self, user: User) -> None:
        act_for(self._request, user, f"{user}, by an application")

    def check_resource(self, request: Any) -> None:
        """Without the parameter, the only resource is meant.

        Raises:
            InvalidTarget: it names another resource.
        """
        named = request.payload.datalist.get("resource", [])
        if any(each.rstrip("/") != self.resource for each in named):
            raise InvalidTarget(f"The resource must be {self.resource}, or left out.")


class PkceS256(CodeChallenge):
    SUPPORTED_CODE_CHALLENGE_METHOD: ClassVar = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        sent = grant.request.payload.data
        if not sent.get("code_challenge") or sent.get("code_challenge_method") != "S256":
            raise InvalidRequestError("A code_challenge with the method S256 is required.")
        super().validate_code_challenge(grant, redirect_uri)
        grant.server.check_resource(grant.request)

    def get_authorization_code_challenge_method(self, authorization_code: Authorization) -> str:
        return "S256"


class _TokenGrant:
    """Exchanges a code or a refresh token for tokens."""

    TOKEN_ENDPOINT_AUTH_METHODS: ClassVar = ["none"]
    server: Any
    request: Any

    def validate_token_request(self) -> None:
        super().validate_token_request()  # type: ignore[misc]
        self.server.check_resource(self.request)
        if self._authorization.resource != self.server.resource:
            raise InvalidGrantError(
                f"The code or token was given for another address of the service. Ask the user "
                f"again, for {self.server.resource}."
            )

    def generate_token(self, *args: Any, **options: Any) -> dict[str, Any]:
        tokens = self._authorization.issue_tokens()
        if tokens is None:
            self._authorization.delete()
            raise InvalidGrantError(
                "Two requests used the same code or token, which ended the access. Ask the user "
                "again."
            )
        access, refresh = tokens
        return {
            "token_type": "Bearer",
            "access_token": access,
            "expires_in": ACCESS_SECONDS,
            "refresh_token": refresh,
            "scope": self._authorization.get_scope(),
        }

    def _do_nothing(self, *args: Any) -> None:
        """``generate_authorization_code`` and ``generate_token`` have stored and replaced it."""

    save_authorization_code = delete_authorization_code = _do_nothing
    save_token = revoke_old_credential = _do_nothing

    def authenticate_user(self, authorization: Authorization) -> Any:
        return authorization.user

    @property
    def _authorization(self) -> Authorization:
        found: Authorization = self.request.authorization_code or self.request.refresh_token
        return found


class CodeGrant(_TokenGrant, AuthorizationCodeGrant):
    allowed_scope = Scope.SEARCH  # what the user has chosen, set before the code is made

    @staticmethod
    def validate_authorization_redirect_uri(request: Any, client: Client) -> str:
        uri = request.payload.redirect_uri
        if not uri or not client.check_redirect_uri(uri):
            raise InvalidRequestError(
                "The application has not registered this redirect_uri. Let it register again with "
                "it."
            )
        return str(uri)

    def generate_authorization_code(self) -> str:
        request = self.request
        return Authorization.issue_code(
            user=request.user,
            client_id=request.client.client_id,
            name=request.client.name,
            scope=self.allowed_scope,
            resource=self.server.resource,
            redirect_uri=self.redirect_uri,
            code_challenge=request.payload.data["code_challenge"],
        )

    def query_authorization_code(self, code: str, client: Client) -> Authorization:
        found: Authorization | None = self.server.find_authorization(CODE, code)
        if found is None or not found.check_client(client):
            raise InvalidGrantError(UNUSABLE)
        return found


class RefreshGrant(_TokenGrant, RefreshTokenGrant):
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Authorization:
        found: Authorization | None = self.server.find_authorization(REFRESH, refresh_token)
        if found is None:
            raise InvalidGrantError(UNUSABLE)
        return found


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS: ClassVar = ["none"]

    def query_token(self, token: str, token_type_hint: str | None) -> Authorization | None:
        find = self.server.find_authorization
        found: Authorization | None = find(ACCESS, token) or find(REFRESH, token)
        return found

    def revoke_token(self, token: Authorization, request: Any) -> None:
        token.delete()
