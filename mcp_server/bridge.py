"""Serves MCP on standard input and output by asking the endpoint of a running service.

One process owns the vector engine, so the command cannot open the indexes itself.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx2
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from core.exceptions import StrataError
from mcp_server.server import INSTRUCTIONS, NAME, VERSION

TIMEOUT: Final = httpx2.Timeout(30, read=300)  # seconds; a language model may take minutes
PROTOCOL: Final = "2026-07-28"  # needs no handshake before a request

Result = TypeVar("Result", bound=types.Result)


@dataclass(frozen=True, slots=True)
class Service:
    """``key``: empty to search public indexes."""

    url: str
    key: str


async def serve_stdio(find_service: Callable[[], Service]) -> None:
    """Answer until standard input ends.

    Args:
        find_service: called for each request, because a service that was restarted has another
            key. It may raise ``StrataError``.
    """

    async def forward(request: types.Request[Any, Any], result: type[Result]) -> Result:
        try:
            service = await asyncio.to_thread(find_service)
        except StrataError as error:
            raise MCPError(types.INTERNAL_ERROR, error.with_fix()) from None
        headers = {"Authorization": f"Bearer {service.key}"} if service.key else {}
        async with (
            # No proxy of the environment: the service is usually on this machine.
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=False) as http,
            Client(
                streamable_http_client(f"{service.url}/mcp", http_client=http), mode=PROTOCOL
            ) as client,
        ):
            try:
                return await client.session.send_request(request, result)
            except MCPError as error:
                refused = error
        raise refused  # outside, because the client would raise it in a group of exceptions

    async def on_list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return await forward(types.ListToolsRequest(params=params), types.ListToolsResult)

    async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await forward(types.CallToolRequest(params=params), types.CallToolResult)

    async def on_list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return await forward(types.ListResourcesRequest(params=params), types.ListResourcesResult)

    async def on_list_resource_templates(
        ctx: Any, params: Any
    ) -> types.ListResourceTemplatesResult:
        return await forward(
            types.ListResourceTemplatesRequest(params=params), types.ListResourceTemplatesResult
        )

    async def on_read_resource(
        ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await forward(types.ReadResourceRequest(params=params), types.ReadResourceResult)

    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_resource_templates,
        on_read_resource=on_read_resource,
    )
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
