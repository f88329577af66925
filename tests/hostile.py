"""A host on loopback that answers requests to harm whoever asks, and names that do not resolve in
time."""

import gzip
import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

DRIPS = 40  # bytes, one in 50 ms: longer than a request of the tests may take
NESTED = b"[" * 100_000  # JSON that a parser follows until its stack ends
BOMB = gzip.compress(gzip.compress(bytes(20 * 2**20)))  # a few hundred bytes


class HostileHost:
    """Answers every path with its ``attack``:

    ``bomb``: content that unpacks to 20 MiB. ``long``: content without an end. ``nested``: deep
    JSON. ``slow header``, ``slow body``: a whole answer, in small pieces.
    """

    def __init__(self) -> None:
        self.attack = ""
        self.encodings: list[str] = []  # what the requests accept
        self.has_ended = threading.Event()  # a slow answer, as far as it can be known
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                host.encodings.append(self.headers.get("Accept-Encoding", ""))
                with suppress(OSError):  # the client has gone
                    host.answer(self)
                self.close_connection = True

            do_POST = do_GET

            def log_message(self, *args: object) -> None: ...

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

        self._is_over = threading.Event()
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        if self.attack == "slow header":
            self._drip(handler, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Slow: ")
            handler.wfile.write(b"\r\n\r\n{}")
            self.has_ended.set()
            return
        handler.send_response(200)
        if self.attack == "bomb":
            handler.send_header("Content-Encoding", "gzip, gzip")
            handler.send_header("Content-Length", str(len(BOMB)))
        handler.end_headers()
        if self.attack == "bomb":
            handler.wfile.write(BOMB)
        elif self.attack == "long":
            while not self._is_over.is_set():
                handler.wfile.write(b" " * 2**16)
        elif self.attack == "nested":
            handler.wfile.write(NESTED)
        else:
            self._drip(handler, b"{}")
            self.has_ended.set()

    def _drip(self, handler: http.server.BaseHTTPRequestHandler, begin: bytes) -> None:
        handler.wfile.write(begin)
        for _ in range(DRIPS):
            if self._is_over.wait(0.05):
                return
            handler.wfile.write(b" ")

    def close(self) -> None:
        self._is_over.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hostile_host() -> Iterator[HostileHost]:
    host = HostileHost()
    try:
        yield host
    finally:
        host.close()


class SlowNames:
    """Replaces ``socket.getaddrinfo``: each look-up of a name in ``.example`` takes two seconds."""

    def __init__(self) -> None:
        self.original = socket.getaddrinfo
        self.is_over = threading.Event()
        self.has_answered = threading.Event()

    def __call__(self, host, *args, **options):
        if not str(host).endswith(".example"):
            return self.original(host, *args, **options)
        self.is_over.wait(2)
        self.has_answered.set()
        raise socket.gaierror("Name or service not known")
