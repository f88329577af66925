"""Requests to an ASGI application in this process."""

import asyncio
from typing import Any

import httpx
import pytest

from mcp_server.asgi_transport import StreamingTransport

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def make_client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=StreamingTransport(app), base_url="http://testserver")


async def start(send: Any) -> None:
    await send({"type": "http.response.start", "status": 202, "headers": [(b"x-name", b"herons")]})


async def send_part(send: Any, content: bytes, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": not is_last})


class TestResponse:
    async def test_is_read_while_the_application_goes_on(self):
        read = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            body = (await receive())["body"]
            await start(send)
            await send_part(send, body)
            await read.wait()
            await send_part(send, b" fish", is_last=True)

        async with asyncio.timeout(30), make_client(app).stream("POST", "/", content=b"eat") as got:
            parts = got.aiter_raw()
            first = await anext(parts)
            read.set()
            rest = [part async for part in parts]

        assert (got.status_code, got.headers["x-name"]) == (202, "herons")
        assert (first, rest) == (b"eat", [b" fish"])

    async def test_that_is_closed_disconnects_the_application(self):
        received: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await start(send)
            await send_part(send, b"first")
            received.append((await receive())["type"])
            await send_part(send, b"", is_last=True)

        async with asyncio.timeout(30), make_client(app).stream("GET", "/") as got:
            await anext(got.aiter_raw())

        assert received == ["http.disconnect"]

    async def test_that_nobody_waits_for_disconnects_the_application(self):
        received: list[str] = []
        ended = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            waiting.set()
            received.append((await receive())["type"])
            await start(send)
            await send_part(send, b"", is_last=True)
            ended.set()

        waiting = asyncio.Event()
        asking = asyncio.create_task(make_client(app).get("/"))
        async with asyncio.timeout(30):
            await waiting.wait()
            asking.cancel()
            await ended.wait()

        assert received == ["http.disconnect"]

    @pytest.mark.parametrize("is_started", [False, True])
    async def test_raises_what_the_application_raises(self, is_started):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            if is_started:
                await start(send)
            raise LookupError("no herons")

        with pytest.raises(LookupError, match="no herons"):
            await make_client(app).get("/")
