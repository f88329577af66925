"""The MCP endpoint, `/mcp`: the protocol's streamable HTTP, each request for itself.

    POST mcp   a thread checks the key; then on the event loop: mcp's transport
               -> mcp_server.server -> requests to REST, in this process

Clients are limited as everywhere (``config.web_server``, ``config.request_handling``). A page of
another site is refused by its `Origin`, and one that has rebound its name by `Host`.
"""

from importlib import import_module
from typing import Any, Final

import httpx
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.views import APIView

from access.authentication import ApiKeyAuthentication, get_grant, get_scope
from access.grants import Grant, Scope
from retrieval.event_loop import run_in_thread

# What of a request's headers the transport reads, besides those of the protocol.
TRANSPORT_HEADERS: Final = {"accept", "content-type", "host", "origin"}
PROTOCOL_PREFIX: Final = "mcp-"


class _Checked(HttpResponse):
    """Who asks, returned from the thread that checked the key to the event loop."""

    def __init__(self, scope: Scope | None, grant: Grant) -> None:
        super().__init__()
        self.scope = scope
        self.grant = grant


class McpView(APIView):
    """Checks the key of an MCP request. ``answer_mcp`` answers it."""

    scopes = Scope.SEARCH  # each tool has its own besides
    is_public_search = True
    authentication_classes = [ApiKeyAuthentication]  # a session of a browser is no key
    schema = None

    def post(self, request: Request) -> HttpResponse:
        import_module("mcp_server.server")  # takes a second, which would stop the event loop
        return _Checked(get_scope(request), get_grant(request))


_check = McpView.as_view()


@csrf_exempt
async def answer_mcp(request: HttpRequest) -> HttpResponseBase:
    checked = await run_in_thread(_check, request)
    if not isinstance(checked, _Checked):
        return checked
    from config.request_handling import handle_request
    from mcp_server.server import Caller, make_server

    host = request.get_host()
    headers = {"Authorization": request.headers.get("Authorization", "")}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(handle_request),
        base_url=f"{request.scheme}://{host}",
        headers={name: value for name, value in headers.items() if value},
        trust_env=False,
    ) as api:
        server = make_server(Caller(checked.scope, checked.grant, api))
        return await _serve(server, request, host)


# The matrix of routes and roles finds the scope by it.
answer_mcp.cls = McpView  # type: ignore[attr-defined]


async def _serve(server: Any, request: HttpRequest, host: str) -> HttpResponse:
    """Answer one request with the transport of the package mcp, without a session."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    origin = f"{request.scheme}://{host}"
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            allowed_hosts=[host], allowed_origins=[origin, *settings.CSRF_TRUSTED_ORIGINS]
        ),
    )
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() in TRANSPORT_HEADERS or name.lower().startswith(PROTOCOL_PREFIX)
    }
    transport = httpx.ASGITransport(manager.handle_request)
    async with (
        manager.run(),
        httpx.AsyncClient(transport=transport, base_url=origin, trust_env=False) as client,
    ):
        answer = await client.post("/mcp", content=request.body, headers=headers)
    return HttpResponse(
        answer.content,
        status=answer.status_code,
        content_type=answer.headers.get("content-type", "application/json"),
    )
