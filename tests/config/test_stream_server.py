"""Connections move to the event loop for streams, and everything is answered on either side."""

import asyncio
import contextlib
import http.client
import socket
import threading
import time
from pathlib import Path

import pytest
import waitress
from waitress.server import BaseWSGIServer

from config.stream_server import StreamServer, make_channel_class

PATIENCE_SECONDS = 10


class Streaming:
    """An ASGI application that says one word, waits for leave, and says another."""

    def __init__(self):
        self.may_end = threading.Event()
        self.cut_off = threading.Semaphore(0)

    async def __call__(self, scope, receive, send):
        headers = [(b"content-type", b"text/event-stream")]
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"one " + body, "more_body": True})
        leaving = asyncio.ensure_future(receive())
        while not self.may_end.is_set():
            await asyncio.wait([leaving], timeout=0.02)
            if leaving.done():
                self.cut_off.release()
                return
        leaving.cancel()
        await send({"type": "http.response.body", "body": b" two"})


def plain(environ, start_response):
    start_response("200 OK", [("Content-Length", "6")])
    return [b"thread"]


@pytest.fixture
def application():
    return Streaming()


@pytest.fixture
def port(application):
    streams = StreamServer(application)
    listening = {}
    server = waitress.create_server(plain, map=listening, host="127.0.0.1", port=0, threads=2)
    for listener in listening.values():
        if isinstance(listener, BaseWSGIServer):
            listener.channel_class = make_channel_class(streams)
    streams.start()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server.effective_port
    server.close()
    server.task_dispatcher.shutdown(timeout=2)
    streams.stop()
    thread.join(PATIENCE_SECONDS)


@pytest.fixture
def connection(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    yield connection
    connection.close()


def ask(connection, method="GET", path="/api/v1/ask", body=None):
    connection.request(method, path, body)
    return connection.getresponse()


class TestAConnection:
    def test_is_answered_from_threads_where_nothing_streams(self, connection):
        assert ask(connection, path="/api/v1/search/pages").read() == b"thread"

    def test_streams_before_the_answer_is_whole(self, connection, application):
        response = ask(connection)

        assert response.read(4) == b"one "
        application.may_end.set()
        assert response.read() == b" two"

    def test_brings_its_body_along(self, connection, application):
        application.may_end.set()

        assert (
            ask(connection, "POST", body=b"x" * 100_000).read()
            == b"one " + b"x" * 100_000 + b" two"
        )

    def test_moves_after_other_requests(self, connection, application):
        application.may_end.set()

        assert ask(connection, path="/health/live").read() == b"thread"
        assert ask(connection, path="/api/v1/ask?q=a").read() == b"one  two"

    def test_is_closed_after_its_answer_so_that_the_next_comes_to_the_threads(
        self, connection, application
    ):
        application.may_end.set()

        answer = ask(connection)

        assert answer.headers["Connection"] == "close"
        answer.read()
        assert ask(connection, path="/health/live").read() == b"thread"

    @pytest.mark.parametrize("path", ["/api/v1/asks", "/api/v1/asking/1", "/api/v1/as"])
    def test_stays_for_an_address_that_only_begins_alike(self, connection, path):
        assert ask(connection, path=path).read() == b"thread"

    def test_moves_however_its_first_line_is_cut(self, port, application):
        application.may_end.set()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
            for byte in b"GET /api/v1/ask HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
                client.send(bytes([byte]))
                time.sleep(0.001)
            received = b"".join(iter(lambda: client.recv(65_536), b""))

        assert b"one " in received
        assert b" two" in received


class TestWhoLeaves:
    def test_ends_what_was_written_for_them(self, connection, application):
        ask(connection).read(4)

        connection.close()

        assert application.cut_off.acquire(timeout=1)

    def test_leaves_nothing_behind_two_hundred_at_once(self, port, application):
        def count():
            return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))

        with contextlib.closing(socket.create_connection(("127.0.0.1", port))) as first:
            first.sendall(b"GET /api/v1/ask HTTP/1.1\r\nHost: x\r\n\r\n")
            first.recv(100)
        assert application.cut_off.acquire(timeout=1)
        time.sleep(0.2)
        before = count()

        def is_as_before():  # or less: what earlier tests left behind may go meanwhile
            return all(now <= then for now, then in zip(count(), before, strict=True))

        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        for client in clients:
            client.sendall(b"GET /api/v1/ask HTTP/1.1\r\nHost: x\r\n\r\n")
        for client in clients:
            # A reset, not a farewell.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()

        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_as_before() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert is_as_before()
