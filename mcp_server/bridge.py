"""Serves MCP on standard input and output by asking the endpoint of a running service.

One process owns the vector engine, so the command cannot open the indexes itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
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


async def serve_stdio(find_service: Callable[[], tuple[str, str]]) -> None:
    """Answer until standard input ends.

    Args:
        find_service: returns the address of the service, and the key, which is empty to search
            public indexes. Called for each request, because a service that was restarted has
            another key. It may raise ``StrataError``.
    """

    async def forward(ctx: Any, request: types.Request[Any, Any], result: type[Result]) -> Result:
        reports: list[asyncio.Task[None]] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            # The client cancels what it calls once it has the result.
            reporting = ctx.session.report_progress(progress, total, message)
            reports.append(asyncio.create_task(reporting))

        try:
            url, key = await asyncio.to_thread(find_service)
        except StrataError as error:
            raise MCPError(types.INTERNAL_ERROR, error.with_fix()) from None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            # No proxy of the environment: the service is usually on this machine.
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=False) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=PROTOCOL) as client,
        ):
            try:
                return await client.session.send_request(request, result, progress_callback=report)
            except MCPError as error:
                refused = error
            finally:
                await asyncio.gather(*reports)
        raise refused  # outside, because the client would raise it in a group of exceptions

    def forwarding(
        request: type[types.Request[Any, Any]], result: type[Result]
    ) -> Callable[[Any, Any], Awaitable[Result]]:
        return lambda ctx, params: forward(ctx, request(params=params), result)

    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=forwarding(types.ListToolsRequest, types.ListToolsResult),
        on_call_tool=forwarding(types.CallToolRequest, types.CallToolResult),
        on_list_resources=forwarding(types.ListResourcesRequest, types.ListResourcesResult),
        on_list_resource_templates=forwarding(
            types.ListResourceTemplatesRequest, types.ListResourceTemplatesResult
        ),
        on_read_resource=forwarding(types.ReadResourceRequest, types.ReadResourceResult),
    )
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
