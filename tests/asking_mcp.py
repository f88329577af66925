"""Requests whose views run threads, answered in the test's own thread and transaction; MCP requests
with the test client."""

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from config import request_handling

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


STRUCTURED = "strata/structured"


def answer_in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread would not see what the test's transaction holds."""

    async def run_here(function: Any, *args: Any, **given: Any) -> Any:
        if threading.current_thread() is threading.main_thread():  # it runs the loop of a stream
            return function(*args, **given)
        return await sync_to_async(function)(*args, **given)

    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    monkeypatch.setattr(request_handling, "_run_in_thread", lambda _, *args: run_here(*args))
    monkeypatch.setattr(asyncio, "to_thread", run_here)


def post_mcp(client: Any, method: str, **params: Any) -> Any:
    """The HTTP response to one request of the protocol."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", message, format="json", headers=HEADERS)


def ask_mcp(client: Any, method: str, **params: Any) -> dict[str, Any]:
    """The result of one request, which must not be an error of the protocol."""
    answer = post_mcp(client, method, **params).json()
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def call_tool(client: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return ask_mcp(client, "tools/call", name=name, arguments=arguments)


def read_structured(client: Any, name: str, **arguments: Any) -> dict[str, Any]:
    """REST's answer, or its error, as the structured content of the tool's answer."""
    answer = ask_mcp(client, "tools/call", name=name, arguments=arguments, _meta={STRUCTURED: True})
    content: dict[str, Any] = answer["structuredContent"]
    return content


def list_tool_names(client: Any) -> list[str]:
    return [tool["name"] for tool in ask_mcp(client, "tools/list")["tools"]]
