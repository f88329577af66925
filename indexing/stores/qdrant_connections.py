"""Connections to a Qdrant server."""

from typing import Any
from urllib.parse import urlsplit

import httpx

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
