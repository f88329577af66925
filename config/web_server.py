"""The web server of both forms: uvicorn, with deadlines and a bound on open connections.

    kernel  -- up to STRATA_MAX_CONNECTIONS -->  Connection  -- a whole header -->  config.asgi

``strata serve`` runs it in a thread of the process that owns the vector engine, gunicorn's
processes (``config.gunicorn``) each run one on the socket they share.
"""

import asyncio
import logging
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.asgi import application

logger = logging.getLogger(__name__)

MAX_PIPELINED = 8  # requests on one connection, sent before the first is answered
BACKLOG = 2_048  # connections that wait in the kernel; Linux limits it to 4,096 by default
ACCEPT_RETRY_SECONDS = 1.0  # after a failure, such as no free file descriptor
# Unread answers that the kernel keeps for one client; by default some megabytes.
SEND_BUFFER_BYTES = 2**18
# While all connections are open: how often to look for a new one, and how long another must have
# waited for a header to be closed for it. Headers of new connections usually arrive sooner.
FULL_CHECK_SECONDS = 0.1
MIN_WAIT_SECONDS = 1.0
STREAM_THREADS = 8  # for what would block the loop; each keeps its database connection


class Connection(HttpToolsProtocol):
    """uvicorn's HTTP on one connection, which is cut off if the client is too slow."""

    def __init__(
        self, on_lost: Callable[[], None], waiting: dict["Connection", float], **options: Any
    ) -> None:
        """
        Args:
            waiting: since when each connection waits for a header, the longest first.
        """
        super().__init__(**options)
        self.on_lost = on_lost
        self.waiting = waiting
        self.framing_bytes = 0  # received since the last whole header or piece of a body
        self.read_deadline: asyncio.TimerHandle | None = None
        self.write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # With this limit, unread data pauses writing, also after the last answer.
        transport.set_write_buffer_limits(high=0)
        self.set_read_deadline(settings.STRATA_HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self.set_read_deadline(None)
        self.resume_writing()
        super().connection_lost(exc)
        self.on_lost()

    def data_received(self, data: bytes) -> None:
        self.framing_bytes += len(data)
        super().data_received(data)
        if self.framing_bytes > settings.STRATA_MAX_HEADER_BYTES:
            self.refuse_header()

    def refuse_header(self) -> None:
        self.send_400_response(
            f"A header may have at most {settings.STRATA_MAX_HEADER_BYTES:,} bytes."
        )

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # it has not been sent one already
            super().send_400_response(msg)

    def on_headers_complete(self) -> None:
        self.framing_bytes = 0
        self.set_read_deadline(None)
        # The whole header may have come at once, in which case no limit has stopped it.
        header_bytes = sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)
        if len(self.url) + header_bytes > settings.STRATA_MAX_HEADER_BYTES:
            self.refuse_header()
            raise ValueError("the header is too long")
        super().on_headers_complete()
        self.headers = []  # for trailers, which are ignored: the request has the list before
        if len(self.pipeline) > MAX_PIPELINED:
            raise ValueError("too many requests were sent before the first was answered")

    def on_body(self, body: bytes) -> None:
        self.framing_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.framing_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # and no other request is under way
            is_refused = self.cycle.more_body  # the rest of its body is discarded
            self.set_read_deadline(
                settings.STRATA_BODY_SECONDS if is_refused else settings.STRATA_IDLE_SECONDS
            )

    def pause_writing(self) -> None:
        super().pause_writing()
        self.write_deadline = self.loop.call_later(settings.STRATA_WRITE_SECONDS, self.cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.write_deadline is not None:
            self.write_deadline.cancel()

    def set_read_deadline(self, seconds: float | None) -> None:
        """Cut the connection off after ``seconds`` without a header; None: no deadline."""
        if self.read_deadline is not None:
            self.read_deadline.cancel()
            self.read_deadline = None
        self.waiting.pop(self, None)
        if seconds is not None:
            self.waiting[self] = self.loop.time()
            self.read_deadline = self.loop.call_later(seconds, self.cut_off)

    def cut_off(self) -> None:
        """Close the connection at once; the kernel drops unread data, too."""
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self.transport.abort()


def get_address(connection: Connection) -> str | None:
    return None if connection.client is None else connection.client[0]


class WebServer(uvicorn.Server):
    """uvicorn's server with a bound on open connections.

    A further one takes the place of the one that has waited longest for a header; if all have
    requests, it waits in the kernel. Where one address has as many as it may, a further one takes
    the place of another of that address, whose clients may be many behind one router; if all have
    requests, it is closed.
    """

    def __init__(self, application: Any, **options: Any) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=Connection,
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                proxy_headers=False,
                server_header=False,
                headers=[("server", "strata")],
                timeout_keep_alive=settings.STRATA_IDLE_SECONDS,
                **options,
            )
        )
        self.accepting: list[asyncio.Task[None]] = []
        self.waiting: dict[Connection, float] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(STREAM_THREADS, "stream"))
        self.servers = []
        free = asyncio.Semaphore(settings.STRATA_MAX_CONNECTIONS)
        self.accepting = [
            loop.create_task(self.accept_connections(listener, free)) for listener in sockets or ()
        ]
        self.started = True

    async def accept_connections(self, listener: socket.socket, free: asyncio.Semaphore) -> None:
        loop = asyncio.get_running_loop()
        make_protocol = partial(
            Connection,
            free.release,
            self.waiting,
            config=self.config,
            server_state=self.server_state,
            app_state={},
        )
        while True:
            await self.make_room(listener, free)
            await free.acquire()
            try:
                connection, peer = await loop.sock_accept(listener)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            except OSError as error:
                free.release()
                logger.error("A connection could not be accepted: %s", error)
                await asyncio.sleep(ACCEPT_RETRY_SECONDS)
                continue
            if self.is_full_for(peer[0]) and not self.close_longest_waiting(peer[0]):
                connection.close()
                free.release()
                continue
            await loop.connect_accepted_socket(make_protocol, connection)

    async def make_room(self, listener: socket.socket, free: asyncio.Semaphore) -> None:
        """Return when a connection may be opened; close one for one that waits in the kernel."""
        kernel = select.poll()
        kernel.register(listener, select.POLLIN)
        while free.locked():
            is_closed = bool(kernel.poll(0)) and self.close_longest_waiting()
            await asyncio.sleep(0 if is_closed else FULL_CHECK_SECONDS)

    def close_longest_waiting(self, address: str | None = None) -> bool:
        """Close the connection, of this address if one is given, that has waited longest for a
        header, unless it is new. Return whether there was one."""
        for connection, since in self.waiting.items():
            if connection.loop.time() - since < MIN_WAIT_SECONDS:
                break
            if address is not None and get_address(connection) != address:
                continue
            connection.set_read_deadline(None)
            connection.transport.close()
            return True
        return False

    def is_full_for(self, address: str) -> bool:
        """Whether the address has as many connections as it may."""
        limit = settings.STRATA_MAX_CONNECTIONS_PER_ADDRESS
        opened = (each for each in self.server_state.connections if isinstance(each, Connection))
        return 0 < limit <= sum(get_address(each) == address for each in opened)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self.accepting:
            task.cancel()
        await super().shutdown(sockets)


@contextmanager
def run_web_server(host: str, port: int) -> Iterator[None]:
    """Run the web server in a thread of this process until the block ends.

    Raises:
        OSError: it cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setblocking(False)
    server = WebServer(
        application,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=settings.STRATA_WEB_DRAIN_SECONDS,
    )
    thread = threading.Thread(target=server.run, args=[[listener]], name="web", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(settings.STRATA_WEB_DRAIN_SECONDS + 1)
