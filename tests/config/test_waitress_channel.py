"""What goes over the wire, byte for byte, where a head waits for its body."""

import socket
import threading
from io import BytesIO

import pytest
import waitress
from waitress import wasyncore

from config.waitress_channel import HeaderMergingChannel

PATIENCE_SECONDS = 10


class Broken:
    """A body that ends in an error after its first part."""

    def __iter__(self):
        yield b"some"
        raise RuntimeError("The body broke.")


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/nothing":
        start_response("204 No Content", [])
        return []
    if path == "/file":
        start_response("200 OK", [("Content-Length", "4")])
        return environ["wsgi.file_wrapper"](BytesIO(b"file"))
    if path == "/parts":
        start_response("200 OK", [])
        return iter([b"", b"one", b"two"])
    if path == "/broken":
        start_response("200 OK", [("Content-Length", "8")])
        return Broken()
    if path == "/error":
        raise RuntimeError("No answer at all.")
    start_response("200 OK", [("Content-Length", "4")])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [b"body"]


@pytest.fixture
def server():
    listening = {}
    server = waitress.create_server(application, map=listening, host="127.0.0.1", port=0, threads=1)
    server.channel_class = HeaderMergingChannel
    is_over = threading.Event()

    def loop():
        while not is_over.is_set():
            wasyncore.loop(timeout=0.02, map=listening, count=1)

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    yield server
    is_over.set()
    thread.join(PATIENCE_SECONDS)
    server.close()
    server.task_dispatcher.shutdown(timeout=2)


@pytest.fixture
def sent(monkeypatch):
    """What each call of ``send`` was given."""
    parts = []
    send = HeaderMergingChannel.send

    def record(self, data, *arguments, **options):
        parts.append(bytes(data))
        return send(self, data, *arguments, **options)

    monkeypatch.setattr(HeaderMergingChannel, "send", record)
    return parts


def read_all(connection):
    """All that comes until the connection is closed."""
    received = b""
    while part := connection.recv(65_536):
        received += part
    return received


def ask(server, path, method="GET"):
    """The status line and the body."""
    address = ("127.0.0.1", server.effective_port)
    with socket.create_connection(address, PATIENCE_SECONDS) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
        received = read_all(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], body


def test_an_answer_is_sent_at_once(server, sent):
    assert ask(server, "/") == (b"HTTP/1.1 200 OK", b"body")
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("path", "method", "status", "body"),
    [
        ("/", "HEAD", b"200 OK", b""),
        ("/nothing", "GET", b"204 No Content", b""),
        ("/file", "GET", b"200 OK", b"file"),
        ("/parts", "GET", b"200 OK", b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"),
    ],
)
def test_whatever_is_answered_arrives_whole(server, path, method, status, body):
    assert ask(server, path, method) == (b"HTTP/1.1 " + status, body)


def test_a_body_that_breaks_off_is_cut_off(server):
    assert ask(server, "/broken") == (b"HTTP/1.1 200 OK", b"some")


def test_an_error_before_the_head_is_told(server):
    status, body = ask(server, "/error")

    assert status == b"HTTP/1.1 500 Internal Server Error"
    assert b"No answer at all" not in body


def test_answers_keep_apart_on_one_connection(server):
    address = ("127.0.0.1", server.effective_port)
    with socket.create_connection(address, PATIENCE_SECONDS) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\n\r\n")
        received = read_all(connection)

    first, _, second = received.partition(b"\r\n\r\nbody")
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert second.startswith(b"HTTP/1.1 204 No Content\r\n")
