"""Which connections the web server closes, and what it reads of a header."""

import socket
import threading
from contextlib import ExitStack, closing, contextmanager

import pytest

from config import web_server
from config.web_server import WebServer

PATIENCE_SECONDS = 30  # less than STRATA_IDLE_SECONDS
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
seen: list[list[tuple[bytes, bytes]]] = []


async def answer(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    seen.append(scope["headers"])
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    server = WebServer(answer, log_level="critical")
    thread = threading.Thread(target=server.run, args=[[listener]])
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def connect(settings):
    settings.STRATA_MAX_CONNECTIONS = 3
    settings.STRATA_MAX_CONNECTIONS_PER_ADDRESS = 0
    with serving() as address, ExitStack() as clients:
        yield lambda: clients.enter_context(
            closing(socket.create_connection(address, timeout=PATIENCE_SECONDS))
        )


def ask(client: socket.socket, request: bytes = GET) -> bytes:
    client.sendall(request)
    received = b""
    while not received.endswith(b"\r\n\r\nok") and (more := client.recv(2**16)):
        received += more
    return received


class TestIdleConnections:
    def test_make_room_for_a_new_one_the_oldest_first(self, connect):
        kept = [connect() for _ in range(3)]
        assert all(ask(each).startswith(b"HTTP/1.1 200 ") for each in kept)

        assert ask(connect()).startswith(b"HTTP/1.1 200 ")

        assert kept[0].recv(1) == b""
        assert ask(kept[1]).startswith(b"HTTP/1.1 200 ")

    def test_make_room_for_others_of_the_same_address(self, settings, connect, monkeypatch):
        monkeypatch.setattr(web_server, "MIN_WAIT_SECONDS", 0)
        settings.STRATA_MAX_CONNECTIONS_PER_ADDRESS = 2
        kept = [connect() for _ in range(2)]
        assert all(ask(each).startswith(b"HTTP/1.1 200 ") for each in kept)

        assert ask(connect()).startswith(b"HTTP/1.1 200 ")

        assert kept[0].recv(1) == b""
        assert ask(kept[1]).startswith(b"HTTP/1.1 200 ")


class TestBusyConnections:
    def test_of_one_address_are_limited(self, settings, connect):
        settings.STRATA_MAX_CONNECTIONS_PER_ADDRESS = 2
        busy = [connect() for _ in range(2)]
        for each in busy:
            assert ask(each).startswith(b"HTTP/1.1 200 ")
            each.sendall(POST)

        assert connect().recv(1) == b""

        assert ask(busy[0], b"x").startswith(b"HTTP/1.1 200 ")


class TestHeaders:
    def test_are_refused_over_the_limit_if_they_come_at_once(self, settings, connect):
        settings.STRATA_MAX_HEADER_BYTES = 8_192
        request = GET.replace(b"Host", b"X: " + b"x" * 8_200 + b"\r\nHost")

        assert ask(connect(), request).startswith(b"HTTP/1.1 400 ")

    def test_do_not_include_trailers(self, connect):
        seen.clear()
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"

        ask(connect(), head + b"1\r\nx\r\n0\r\nAuthorization: Bearer forged\r\n\r\n")

        assert [[name for name, _ in headers] for headers in seen] == [
            [b"host", b"transfer-encoding"]
        ]
