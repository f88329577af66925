"""Event-loop server for streamed answers in embedded mode.

Plain requests are answered from threads, which is quickest. An answer that a language model
writes lasts for many seconds, and each would hold a thread as long. So a connection that asks
for one is handed over, with the bytes it has sent so far, to an event loop, where uvicorn and the
same application under ASGI answer it. It is closed after that answer: what its client asks next
comes to the threads again.
"""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from config.waitress_channel import HeaderMergingChannel

STREAM_REQUEST_PREFIXES: Final = (
    b"GET /api/v1/ask",
    b"POST /api/v1/ask",
)  # how requests for streams begin
STREAM_THREADS: Final = 8  # for what would block the loop; each keeps its database connection
STOP_TIMEOUT_SECONDS: Final = 1.0  # until streams under way are cut off


class StreamServer:
    """An event loop in a thread of its own, and the connections it was given."""

    def __init__(self, application: Any) -> None:
        self._config = uvicorn.Config(
            _close_after_response(application),
            http=H11Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        self._config.load()
        self._state = ServerState()
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(STREAM_THREADS, "stream"))
        self._thread = threading.Thread(target=self._loop.run_forever, name="streams", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def accept_connection(self, connection: socket.socket, received: bytes) -> None:
        """Take over a connection that has already sent ``received``, and answer it."""
        self._loop.call_soon_threadsafe(self._start_protocol, connection, received)

    def stop(self) -> None:
        """Let what is under way end for a moment, then cut it off."""
        asyncio.run_coroutine_threadsafe(self._drain(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start_protocol(self, connection: socket.socket, received: bytes) -> None:
        def make_protocol() -> _HandedOverProtocol:
            return _HandedOverProtocol(
                received,
                config=self._config,
                server_state=self._state,
                app_state={},
                _loop=self._loop,
            )

        adopting = self._loop.create_task(
            self._loop.connect_accepted_socket(make_protocol, connection)
        )
        self._state.tasks.add(adopting)  # type: ignore[arg-type]
        adopting.add_done_callback(self._state.tasks.discard)

    async def _drain(self) -> None:
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=STOP_TIMEOUT_SECONDS)
        for task in list(self._state.tasks):
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=STOP_TIMEOUT_SECONDS)


def _close_after_response(application: Any) -> Any:
    """Wrap the application so that every response closes its connection."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def send_closing(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        await application(scope, receive, send_closing)

    return answer


class _HandedOverProtocol(H11Protocol):
    """HTTP on a connection whose first bytes were read before."""

    def __init__(self, received: bytes, **given: Any) -> None:
        super().__init__(**given)
        self._received = received

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.data_received(self._received)


def make_channel_class(streams: StreamServer) -> type[HeaderMergingChannel]:
    """The waitress channel class that hands a connection to ``streams`` when it asks for a
    stream."""

    class Channel(HeaderMergingChannel):
        _partial_request = b""  # of a request that cannot be told yet

        def received(self, data: bytes) -> bool:
            if self.request is None and not self.requests:
                data = self._partial_request + data
                self._partial_request = b""
                if _is_stream_request(data):
                    self.del_channel()
                    self.connected = False
                    streams.accept_connection(self.socket, data)
                    return True
                if any(start.startswith(data) for start in STREAM_REQUEST_PREFIXES):
                    self._partial_request = data
                    return False
            return bool(super().received(data))

    return Channel


def _is_stream_request(data: bytes) -> bool:
    """Whether the request that begins so is for one of ``STREAM_REQUEST_PREFIXES``, and not for
    another address that only begins alike."""
    for start in STREAM_REQUEST_PREFIXES:
        if data.startswith(start) and data[len(start) : len(start) + 1] in {b" ", b"?", b"/"}:
            return True
    return False
