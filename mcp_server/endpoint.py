"""The MCP endpoint, `/mcp`: streamable HTTP without sessions.

    POST mcp   a thread checks the key; then on the event loop: mcp_server.server
               -> mcp_server.server -> requests to REST, in this process

The limits of ``config.web_server`` and ``config.request_handling`` apply here, too. Requests from
pages of other sites are refused: by the header ``Origin``, or after DNS rebinding by ``Host``.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib import import_module
from typing import Any

import httpx
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.views import APIView

from access.authentication import MCP_HEADER, MCP_SECRET, McpAuthentication, get_grant, get_scope
from access.grants import Grant, Scope
from core.import_lock import import_lock
from mcp_server.asgi_transport import StreamingTransport
from mcp_server.operations import load_operations
from retrieval.event_loop import run_in_thread

# Copied to the requests to REST; behind a proxy, the others hold the client's address and the path
# of the service.
FORWARDED_HEADERS = ("Authorization", "X-Forwarded-For", "X-Forwarded-Prefix")


class _Checked(HttpResponse):
    """What the key allows, returned from the thread that checked it to the event loop."""

    def __init__(self, scope: Scope | None, grant: Grant) -> None:
        super().__init__()
        self.scope = scope
        self.grant = grant


class McpView(APIView):
    """Checks the key or the token of an MCP request. ``answer_mcp`` answers it."""

    scopes = Scope.SEARCH  # each tool also requires its own scope
    is_public_search = True
    authentication_classes = [McpAuthentication]  # not the session of a browser
    schema = None

    def post(self, request: Request) -> HttpResponse:
        # The first time, both would block the event loop for too long.
        with import_lock:
            import_module("mcp_server.server")
        load_operations()
        return _Checked(get_scope(request), get_grant(request))


_check = McpView.as_view()


@csrf_exempt
async def answer_mcp(request: HttpRequest) -> HttpResponseBase:
    checked = await run_in_thread(_check, request)
    if not isinstance(checked, _Checked):
        return checked
    from mcp_server.server import EVENT_STREAM, Caller, answer_request, make_server

    rest: Any = import_string(settings.ASGI_APPLICATION)
    host = request.get_host()
    headers = {name: request.headers[name] for name in FORWARDED_HEADERS if name in request.headers}
    api = httpx.AsyncClient(
        transport=StreamingTransport(rest, client=(request.META.get("REMOTE_ADDR", ""), 0)),
        base_url=f"{request.scheme}://{host}",
        # JSON, and not a stream of events.
        headers=headers | {"Accept": "application/json", MCP_HEADER: MCP_SECRET},
        trust_env=False,
    )
    answer = await answer_request(
        make_server(Caller(checked.scope, checked.grant, api)),
        request.scheme or "http",
        host,
        request.headers,
        request.body,
        settings.CSRF_TRUSTED_ORIGINS,
    )
    content_type = answer.headers.get("content-type", "application/json")
    if content_type.startswith(EVENT_STREAM) and isinstance(request, ASGIRequest):
        streamed = StreamingHttpResponse(_pass_on(answer), content_type=content_type)
        streamed.headers["Cache-Control"] = "no-cache"
        streamed.headers["X-Accel-Buffering"] = "no"  # keeps nginx from buffering the events
        return streamed
    async with aclosing(answer):
        content = await answer.aread()
    return HttpResponse(content, status=answer.status_code, content_type=content_type)


async def _pass_on(answer: httpx.Response) -> AsyncIterator[bytes]:
    async with aclosing(answer):
        async for part in answer.aiter_raw():
            yield part


# ``config.middleware`` reads the class of a view there, as on those of DRF.
answer_mcp.cls = McpView  # type: ignore[attr-defined]
