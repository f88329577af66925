"""Answers one HTTP request of MCP with the transport of the package mcp, without a session."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import httpx
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

# The headers that the transport reads, besides those that begin with PROTOCOL_PREFIX.
HEADERS: Final = {"accept", "content-type", "host", "origin"}
PROTOCOL_PREFIX: Final = "mcp-"


async def answer_request(
    server: Server[Any],
    origin: str,
    headers: Mapping[str, str],
    body: bytes,
    trusted_origins: Collection[str],
) -> httpx.Response:
    """
    Args:
        origin: scheme and host of the service, as the request names it.
        trusted_origins: other sites whose pages may send requests.
    """
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=[headers["Host"]], allowed_origins=[origin, *trusted_origins]
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
        return await client.post("/mcp", content=body, headers=read)
