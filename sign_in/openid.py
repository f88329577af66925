"""Sign in with an OpenID provider: the authorization code flow with PKCE, state and nonce.

Authlib checks the state, and the signature, issuer, audience, times and
nonce of the ID token, and fetches the provider's keys again if a token names an unknown one.
"""

import logging
from functools import cache
from io import BytesIO
from typing import Any

import httpx
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoOAuth2App, OAuth
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from joserfc.errors import BadSignatureError, JoseError
from requests.adapters import BaseAdapter

from access.exceptions import SignInRefused
from core.outbound import make_client

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0  # of one request to the provider, for which a person waits
MAX_ANSWER_BYTES = 2**20  # keys, tokens and claims have some kilobytes
CLOCK_SECONDS = 60  # the provider's clock may differ by this much
# Signed with a private key of the provider. Without this list, a provider could allow "none".
ALGORITHMS = ["RS256", "PS256", "ES256"]
ERRORS = (
    httpx.HTTPError, requests.RequestException, AuthlibBaseError, JoseError, ValueError,
    RuntimeError,
)  # fmt: skip


class _CheckedAdapter(BaseAdapter):
    """Sends what Authlib asks with ``requests`` through the client that checks addresses."""

    def send(self, request: Any, *args: Any, **options: Any) -> requests.Response:
        with make_client(max_bytes=MAX_ANSWER_BYTES, timeout=TIMEOUT_SECONDS) as client:
            answer = client.request(
                str(request.method),
                str(request.url),
                headers=dict(request.headers),
                content=request.body,
            )
        response = requests.Response()
        response.status_code = answer.status_code
        response.headers.update(answer.headers)
        response.raw = BytesIO(answer.content)
        response.url = str(answer.url)
        response.request = request
        return response

    def close(self) -> None:
        """Each request closes its client."""


class _Session(OAuth2Session):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.trust_env = False
        for scheme in ("https://", "http://"):
            self.mount(scheme, _CheckedAdapter())


class _Provider(DjangoOAuth2App):
    client_cls = _Session

    def load_server_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = super().load_server_metadata()
        metadata["id_token_signing_alg_values_supported"] = ALGORITHMS
        return metadata

    def parse_id_token(self, *args: Any, **options: Any) -> Any:
        """Fetch the keys again after a wrong signature: a token without a key id may be signed with
        a new key. Authlib itself does so only for an unknown key id."""
        try:
            return super().parse_id_token(*args, **options)
        except BadSignatureError:
            self.fetch_jwk_set(force=True)
            return super().parse_id_token(*args, **options)


def redirect_to_provider(request: HttpRequest, return_url: str) -> HttpResponseBase:
    """Send the browser to the OpenID provider.

    Raises:
        SignInRefused: the provider does not answer.
    """
    try:
        response: HttpResponseBase = _get_provider().authorize_redirect(request, return_url)
    except ERRORS as error:
        raise _refuse(error, "The OpenID provider does not answer.") from error
    return response


def read_claims(request: HttpRequest) -> dict[str, Any]:
    """What the provider says of the person who came back from it.

    Raises:
        SignInRefused: the person refused, the provider does not answer, or its answer is not valid.
    """
    if "error" in request.GET:
        raise _refuse(request.GET["error"], "The OpenID provider refused the sign-in.")
    provider = _get_provider()
    try:
        token = provider.authorize_access_token(
            request, claims_options=_make_claims_options(), leeway=CLOCK_SECONDS
        )
        claims = token.get("userinfo")
        if claims is None:
            raise SignInRefused("The OpenID provider sent no ID token.")
        return _complete(provider, token, dict(claims))
    except ERRORS as error:
        raise _refuse(error, "The answer of the OpenID provider is not valid.") from error


def _make_claims_options() -> dict[str, Any]:
    return {
        "iss": {"essential": True, "value": settings.STRATA_OIDC_ISSUER},
        "aud": {"essential": True, "value": settings.STRATA_OIDC_CLIENT_ID},
        "sub": {"essential": True},
        "exp": {"essential": True},
        "nonce": {"essential": True},
    }


def _complete(provider: Any, token: Any, claims: dict[str, Any]) -> dict[str, Any]:
    """Add the claims of the user info endpoint: some providers return groups only there."""
    metadata = provider.load_server_metadata()
    if settings.STRATA_OIDC_GROUPS_CLAIM in claims or "userinfo_endpoint" not in metadata:
        return claims
    more = dict(provider.userinfo(token=token))
    if more.get("sub") != claims["sub"]:
        raise SignInRefused("The OpenID provider described another user than the one signed in.")
    return {**more, **claims}


def _refuse(error: Exception | str, text: str) -> SignInRefused:
    logger.warning("%s %r", text, error)
    return SignInRefused(text)


def _get_provider() -> Any:
    return _make_provider(
        settings.STRATA_OIDC_ISSUER,
        settings.STRATA_OIDC_CLIENT_ID,
        settings.STRATA_OIDC_CLIENT_SECRET,
        settings.STRATA_OIDC_SCOPES,
    )


@cache
def _make_provider(issuer: str, client_id: str, client_secret: str, scopes: str) -> Any:
    """Cached, because the client keeps the provider's addresses and keys."""
    return OAuth().register(
        "openid",
        client_cls=_Provider,
        client_id=client_id,
        client_secret=client_secret,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": scopes, "code_challenge_method": "S256"},
    )
