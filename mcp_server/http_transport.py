"""Answers one HTTP request of MCP with the transport of the package mcp, without a session."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import httpx
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

# The headers that the transport reads, besides those that begin with PROTOCOL_PREFIX.
HEADERS: Final = {"accept", "content-type", "origin"}
PROTOCOL_PREFIX: Final = "mcp-"


async def answer_request(
    server: Server[Any],
    scheme: str,
    host: str,
    headers: Mapping[str, str],
    body: bytes,
    trusted_origins: Collection[str],
) -> httpx.Response:
    """
    Args:
        host: by which the request addresses the service; Django has checked it.
        trusted_origins: other sites whose pages may send requests.
    """
    origin = f"{scheme}://{host}"
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=[host], allowed_origins=[origin, *trusted_origins]
        ),
    )
    read = {
        name: value
        for name, value in headers.items()
        if name.lower() in HEADERS or name.lower().startswith(PROTOCOL_PREFIX)
    }
    transport = httpx.ASGITransport(manager.handle_request)
    async with (
        manager.run(),
        httpx.AsyncClient(transport=transport, base_url=origin, trust_env=False) as client,
    ):
        return await client.post("/mcp", content=body, headers=read | {"host": host})
