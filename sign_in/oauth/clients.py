"""Applications that ask users for access, all of them public clients of OAuth: no secret.

An application that registers gets a signed text with its name and its redirect URIs as its id, so
that strangers write no rows. An id that is an https URL is a client ID metadata document
(draft-ietf-oauth-client-id-metadata-document), fetched when a user is asked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from authlib.oauth2.rfc6749 import InvalidClientError
from authlib.oauth2.rfc7591.errors import InvalidClientMetadataError, InvalidRedirectURIError
from django.conf import settings
from django.core import signing

from access.grants import Scope
from core.outbound import AnswerTooLong, make_client, read_json

SALT = "access.oauth.clients"  # ids of clients are signed with it
MAX_URIS = 5
MAX_URI_CHARS = 500
MAX_NAME_CHARS = 100
MAX_DOCUMENT_BYTES = 5 * 2**10  # as the draft recommends
FETCH_SECONDS = 5.0  # for all of it: a person waits
_URI = re.compile(r"https?://([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?([/?][!\x22$-~]*)?", re.ASCII)
_PORT = re.compile(r"^(http://[^/:\[]+|http://\[[^]]*\]):\d{1,5}")


@dataclass(frozen=True, slots=True)
class Client:
    """An application, with the methods that Authlib calls on a client."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]

    @property
    def is_document(self) -> bool:
        return self.client_id.startswith("https://")

    def check_redirect_uri(self, uri: str) -> bool:
        """Whether it is registered; on a loopback address, which a native application takes at the
        moment of the request, with any port (RFC 8252, section 7.3)."""
        without_port = [_PORT.sub(r"\1", each) for each in self.redirect_uris]
        return uri in self.redirect_uris or _PORT.sub(r"\1", uri) in without_port

    def get_default_redirect_uri(self) -> None:
        return None  # each request names it

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or Scope.SEARCH

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in {"authorization_code", "refresh_token"}

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"


def register(metadata: Any) -> Client:
    """Register an application by its metadata.

    Raises:
        InvalidClientMetadataError, InvalidRedirectURIError: as RFC 7591 has them.
    """
    name, uris = _read_metadata(metadata)
    return Client(signing.dumps([name, *uris], salt=SALT, compress=True), name, uris)


def find_registered(client_id: str) -> Client | None:
    """The application with this id. Of one with a metadata document only the id: the redirect URI
    is not known."""
    if client_id.startswith("https://"):
        return Client(client_id, "", ())
    try:
        name, *uris = signing.loads(client_id, salt=SALT)
    except signing.BadSignature:
        return None
    return Client(client_id, name, tuple(uris))


def fetch(client_id: str) -> Client:
    """The application whose metadata document has this URL.

    Raises:
        InvalidClientError: it cannot be fetched, or it is not the document of this application.
        InvalidClientMetadataError, InvalidRedirectURIError: as ``register``.
    """
    # Only on the port of https: a user without rights must not learn which others are open.
    parts = urlsplit(client_id)
    is_document = parts.path not in {"", "/"} and "/." not in parts.path
    if not is_redirect_uri(client_id) or not is_document or ":" in parts.netloc:
        raise InvalidClientError(
            "A client_id that is a URL must be that of the application's metadata document: https, "
            "with a path and without a port."
        )
    try:
        with make_client(
            max_bytes=MAX_DOCUMENT_BYTES,
            may_be_private=False,
            timeout=FETCH_SECONDS,
            headers={"Accept": "application/json"},
        ) as http:
            answer = http.get(client_id)
    except AnswerTooLong as error:
        raise InvalidClientError(
            f"The metadata document at the client_id may have at most {MAX_DOCUMENT_BYTES:,} bytes."
        ) from error
    except httpx.HTTPError as error:
        raise InvalidClientError(
            "The metadata document at the client_id cannot be fetched. It must be on the internet; "
            "try again later."
        ) from error
    try:
        metadata = read_json(answer) if answer.status_code == httpx.codes.OK else None
    except ValueError:
        metadata = None
    if not isinstance(metadata, dict) or metadata.get("client_id") != client_id:
        raise InvalidClientError(
            "What is at the client_id is not this application's metadata document: a JSON object "
            "with the same client_id."
        )
    name, uris = _read_metadata(metadata)
    return Client(client_id, name, uris)


def is_redirect_uri(uri: object) -> bool:
    """Whether an application may have it: https, or http on a loopback address (MCP
    authorization, "Communication Security")."""
    if not isinstance(uri, str) or len(uri) > MAX_URI_CHARS or not _URI.fullmatch(uri):
        return False
    parts = urlsplit(uri)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return parts.scheme == "https" or host in settings.STRATA_LOOPBACK_HOSTS


def _read_metadata(metadata: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(metadata, Mapping):
        raise InvalidClientMetadataError("The client metadata must be a JSON object.")
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_URIS:
        raise InvalidRedirectURIError(f"redirect_uris must list 1 to {MAX_URIS} URIs.")
    if not all(map(is_redirect_uri, uris)):
        raise InvalidRedirectURIError(
            f"Each redirect URI must be an https URL, or an http URL of this machine (localhost, "
            f"127.0.0.1), without user and fragment, of at most {MAX_URI_CHARS} characters."
        )
    name = metadata.get("client_name") or urlsplit(uris[0]).hostname
    if not isinstance(name, str) or not name.isprintable():
        raise InvalidClientMetadataError(
            "client_name must be a text without line breaks and other control characters."
        )
    return name.strip()[:MAX_NAME_CHARS], tuple(uris)
