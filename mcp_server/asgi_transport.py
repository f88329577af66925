"""Sends requests to an ASGI application in this process, whose responses begin before they end."""

import asyncio
from collections.abc import AsyncIterator
from contextvars import Context
from typing import Any

import httpx


class StreamingTransport(httpx.AsyncBaseTransport):
    """As ``httpx.ASGITransport``, which returns a response when the application has ended. The
    application runs in a task of its own; closing the response disconnects it."""

    def __init__(
        self,
        app: Any,
        client: tuple[str, int] = ("127.0.0.1", 0),
        context: Context | None = None,
    ) -> None:
        self._app = app
        self._client = client
        self._context = context  # None: a copy of the caller's

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        bodies = [await request.aread()]
        messages: asyncio.Queue[Any] = asyncio.Queue()
        closed = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            await closed.wait()
            return {"type": "http.disconnect"}

        async def app(scope: Any, _: Any, send: Any) -> None:
            async def send_and_pass_on(message: Any) -> None:
                messages.put_nowait(message)
                await send(message)

            await self._app(scope, receive, send_and_pass_on)

        sending = httpx.ASGITransport(app, client=self._client).handle_async_request(request)
        running = asyncio.create_task(sending, context=self._context)
        running.add_done_callback(lambda _: messages.put_nowait(None))
        try:
            start = await messages.get()
            if start is None:
                return running.result()  # raises what the application raised
        except BaseException:
            closed.set()
            raise
        stream = _Body(messages, running, closed)
        return httpx.Response(start["status"], headers=start["headers"], stream=stream)


class _Body(httpx.AsyncByteStream):
    def __init__(
        self, messages: asyncio.Queue[Any], running: asyncio.Task[Any], closed: asyncio.Event
    ) -> None:
        self._messages = messages
        self._running = running
        self._closed = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while message := await self._messages.get():
            yield message.get("body", b"")
        self._running.result()  # raises what the application raised

    async def aclose(self) -> None:
        self._closed.set()
        await asyncio.wait([self._running])
