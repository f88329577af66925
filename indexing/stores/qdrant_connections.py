"""Connections to a Qdrant server."""

from typing import Any
from urllib.parse import urlsplit

import httpx

LOCAL_HOSTS = {"localhost", "127.0.0.1"}
BROKEN_CONNECTION_ERRORS = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class ReconnectingTransport(httpx.HTTPTransport):
    """Sends a request again, on another connection, if one that was kept open has broken.

    A server closes connections that are idle, at the moment at which the next request may be on
    its way. Whatever the store sends may be carried out twice.
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
    """As the client would make it: none are kept open to this machine, where one costs little."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname
    limits = httpx.Limits(max_keepalive_connections=0 if host in LOCAL_HOSTS else 20)
    return ReconnectingTransport(limits=limits)
