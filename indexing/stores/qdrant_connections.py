"""Connections to a Qdrant server, and its errors as errors of this service."""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from core.exceptions import StrataError
from indexing.exceptions import (
    StoreBusy,
    StoreOutcomeUnknown,
    StoreRefused,
    StoreRejected,
    StoreUnavailable,
)

LOCAL_HOSTS = {"localhost", "127.0.0.1"}
BROKEN_CONNECTION_ERRORS = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class ReconnectingTransport(httpx.HTTPTransport):
    """Sends a request again, on another connection, if a connection that was kept open is broken.

    A server may close an idle connection just when the next request is sent. All requests of the
    store may safely be carried out twice.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        while True:
            is_new = False

            def trace(event: str, info: dict[str, Any]) -> None:
                nonlocal is_new
                is_new |= event == "connection.connect_tcp.started"

            request.extensions = {**request.extensions, "trace": trace}
            try:
                return super().handle_request(request)
            except BROKEN_CONNECTION_ERRORS:
                if is_new:
                    raise


def make_transport(url: str) -> ReconnectingTransport:
    """Make a transport with the client's limits: no connections are kept open to this machine,
    where a new one is cheap."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname
    limits = httpx.Limits(max_keepalive_connections=0 if host in LOCAL_HOSTS else 20)
    return ReconnectingTransport(limits=limits)


UNSENT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
STRICT_MODE_PREFIX = "Bad request:"  # a limit of strict mode; other errors begin differently
KEY_FIX = "Set QDRANT_API_KEY to a key that may read, write and manage collections there."
ADDRESS_FIX = "Set QDRANT_URL to the address of the Qdrant server, with the prefix of its proxy."

ClientError = ResponseHandlingException | UnexpectedResponse | QdrantException


def to_store_error(error: ClientError) -> StrataError:
    """Translate an error of the client into an error of this service."""
    if isinstance(error, ResponseHandlingException):
        is_unsent = isinstance(error.source, UNSENT_ERRORS)
        unavailable = StoreUnavailable if is_unsent else StoreOutcomeUnknown
        return unavailable(f"The vector store did not answer: {error}")
    if isinstance(error, ResourceExhaustedResponse):
        busy = StoreBusy(f"The vector store limits the rate of requests: {error}")
        busy.retry_after = float(error.retry_after_s)
        return busy
    if isinstance(error, QdrantException):
        return StoreUnavailable(f"The vector store did not answer: {error}")
    return _to_refusal(error.status_code, _read_detail(error))


def is_missing_collection(error: Exception, name: str) -> bool:
    """Whether this collection is missing: a 404 that names it, or the message of the in-memory
    mode. A 404 without a name does not come from Qdrant."""
    if isinstance(error, UnexpectedResponse):
        is_named = f"Collection `{name}`" in _read_detail(error)
        return error.status_code == HTTPStatus.NOT_FOUND and is_named
    return str(error).startswith("Collection ") and str(error).endswith(" not found")


def _to_refusal(status: int | None, detail: str) -> StrataError:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return StoreRefused("The vector store does not accept the API key.", fix=KEY_FIX)
        case HTTPStatus.FORBIDDEN:
            return StoreRefused(
                f"The API key of the vector store does not allow this request: {detail}",
                fix=KEY_FIX,
            )
        case HTTPStatus.NOT_FOUND if not detail:
            return StoreRefused("There is no Qdrant server at QDRANT_URL.", fix=ADDRESS_FIX)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return StoreBusy(f"The vector store limits the rate of requests: {detail}")
        case HTTPStatus.BAD_REQUEST if detail.startswith(STRICT_MODE_PREFIX):
            return StoreRefused(
                f"The strict mode of the vector store refused a request: {detail}",
                fix="Raise this limit of the collection's strict mode, or switch the mode off.",
            )
    if status is None or status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        # A proxy may send this while the server still works on the request.
        return StoreOutcomeUnknown(f"The vector store failed: {detail}")
    return StoreRejected(f"The vector store rejected a request as invalid: {status} {detail}")


def _read_detail(error: UnexpectedResponse) -> str:
    """The server's message; the whole body if it is not in Qdrant's format."""
    content = error.content.decode(errors="replace")
    try:
        detail = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return content.strip()
    return str(detail)
