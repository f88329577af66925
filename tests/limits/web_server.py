"""Tests with clients on real connections that send or read nothing, too slowly or too much."""

import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.limits import values

PATIENCE_SECONDS = 120  # much longer than any limit
PAUSE_SECONDS = 0.1
MORE_THAN_THREADS = 12
HUGE = 300 * 2**20
LARGE = 100_000
BATCH = "POST /api/v1/indexes/plain/artifacts/batch"


@dataclass(frozen=True)
class WebServer:
    """A started web server, and the process that answers."""

    port: int
    key: str
    pid: int
    stop_pid: int  # the process that gets SIGTERM

    def connect(self, **options: int) -> socket.socket:
        client = socket.socket()
        if "receive_bytes" in options:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["receive_bytes"])
        client.settimeout(PATIENCE_SECONDS)
        client.connect(("127.0.0.1", self.port))
        return client

    def head(self, line: str, *headers: str, has_key: bool = True) -> bytes:
        key = [f"Authorization: Bearer {self.key}"] if has_key else []
        # As sent by a proxy in front of the production form.
        proxied = "X-Forwarded-Proto: https"
        return "\r\n".join(
            [f"{line} HTTP/1.1", "Host: localhost", proxied, *key, *headers, "", ""]
        ).encode()

    def count_connections(self) -> int:
        """Count the connections that the process has accepted."""
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        port = f":{self.port:04X}"
        ours = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(port)}
        return sum(_link(each) in ours for each in Path(f"/proc/{self.pid}/fd").iterdir()) - 1

    def is_listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS).close()
        except ConnectionError:
            return False
        return True

    def is_live(self) -> bool:
        url = f"http://127.0.0.1:{self.port}/health/live"
        with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            return client.get(url, headers={"X-Forwarded-Proto": "https"}).status_code == 200


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except FileNotFoundError:
        return ""


def read_answer(client: socket.socket) -> tuple[int, dict[str, object]]:
    """The status and the JSON body of the next answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _receive(client)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += _receive(client)
    return int(head.split()[1]), json.loads(body[:length])


def _receive(client: socket.socket) -> bytes:
    received = client.recv(2**16)
    assert received, "The connection was closed without an answer."
    return received


def is_closed(client: socket.socket) -> bool:
    """Whether the server ends the connection within ``PATIENCE_SECONDS``; reads what it sends."""
    try:
        while client.recv(2**16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def is_reset(client: socket.socket) -> bool:
    """Whether the server resets the connection within ``PATIENCE_SECONDS``; reads nothing."""
    poll = select.poll()
    poll.register(client, 0)
    return bool(poll.poll(PATIENCE_SECONDS * 1_000))


def send_until_closed(client: socket.socket, pieces: Iterator[bytes]) -> bool:
    """Whether the server ends the connection while the pieces are sent, with pauses."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        readable, _, _ = select.select([client], [], [], PAUSE_SECONDS)
        try:
            if readable and not client.recv(2**16):
                return True
            client.sendall(next(pieces))
        except ConnectionError:
            return True
    return False


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(PAUSE_SECONDS / 5)


class TestWebServerLimits:
    """The base of the tests of each form, which define the fixture ``server``."""

    __test__ = False

    def test_closes_a_silent_connection(self, server):
        with closing(server.connect()) as client:
            assert is_closed(client)

    def test_closes_a_connection_whose_header_never_ends(self, server):
        with closing(server.connect()) as client:
            client.sendall(b"GET /health/live HTTP/1.1\r\nX: ")

            assert send_until_closed(client, iter(lambda: b"x", None))

    def test_closes_a_kept_connection_without_a_request(self, server):
        with closing(server.connect()) as client:
            client.sendall(server.head("GET /health/live"))
            assert read_answer(client)[0] == 200

            assert is_closed(client)

    def test_does_not_extend_a_kept_connection_for_blank_lines(self, server):
        with closing(server.connect()) as client:
            client.sendall(server.head("GET /health/live"))
            assert read_answer(client)[0] == 200

            assert send_until_closed(client, iter(lambda: b"\r\n", None))

    def test_refuses_a_long_header(self, server):
        with closing(server.connect()) as client:
            client.sendall(b"GET /health/live HTTP/1.1\r\nX: " + b"x" * 10_000)

            assert client.recv(2**16).startswith(b"HTTP/1.1 400 ")

    def test_refuses_long_trailers(self, server):
        expecting = ("Transfer-Encoding: chunked", "Expect: 100-continue")
        with closing(server.connect()) as client:
            client.sendall(server.head("POST /api/v1/search/pages", *expecting))
            assert client.recv(2**16) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"0\r\nX: " + b"x" * 10_000)

            assert client.recv(2**16).startswith(b"HTTP/1.1 400 ")

    def test_refuses_hundreds_of_pipelined_requests(self, server):
        with closing(server.connect()) as client:
            client.sendall(server.head("GET /health/live") * 200)
            received = b"".join(iter(lambda: client.recv(2**16), b""))

        assert received.count(b"HTTP/1.1 200 ") < 200

    def test_accepts_only_the_maximum_number_of_connections(self, server):
        with ExitStack() as clients:
            for _ in range(2 * values.STRATA_MAX_CONNECTIONS):
                clients.enter_context(closing(server.connect()))
            wait_until(lambda: server.count_connections() >= values.STRATA_MAX_CONNECTIONS)
            most = max(server.count_connections() for _ in range(20))

            assert most == values.STRATA_MAX_CONNECTIONS
            assert server.is_live()

    def test_refuses_a_slow_body_with_an_explanation(self, server):
        head = server.head("POST /api/v1/search/pages", "Content-Length: 1000", has_key=False)
        with closing(server.connect()) as client:
            client.sendall(head + b"{")

            assert read_answer(client) == (
                408,
                {
                    "code": "body_timeout",
                    "detail": "The request body did not arrive within 1 s.",
                    "fix": "Send the request again over a faster connection, or in smaller parts.",
                },
            )

    def test_occupies_no_thread_for_slow_bodies(self, server):
        head = server.head(BATCH, f"Content-Length: {2**20}", "Expect: 100-continue")
        over = threading.Event()

        def drip(clients: list[socket.socket]) -> None:
            while not over.wait(PAUSE_SECONDS):
                for client in clients:
                    client.sendall(b"\n")

        with ExitStack() as stack:
            clients = [
                stack.enter_context(closing(server.connect())) for _ in range(MORE_THAN_THREADS)
            ]
            for client in clients:
                client.sendall(head)
            dripping = threading.Thread(target=drip, args=[clients])
            dripping.start()
            try:
                for client in clients:
                    assert client.recv(2**16).startswith(b"HTTP/1.1 100 ")
                assert server.is_live()
                assert select.select(clients, [], [], 0)[0] == []
            finally:
                over.set()
                dripping.join()

    @pytest.mark.parametrize(
        ("line", "status"),
        [
            ("POST /api/v1/indexes/plain/artifacts/", 401),
            ("POST /api/v1/indexes/plain/artifacts/batch", 401),
            ("POST /api/v1/ask", 401),
            ("POST /api/v1/search/pages", 401),
            ("POST /api/v1/nothing", 404),
            ("POST /admin/login/", 413),
            ("POST /health/live", 413),
            ("GET /static/admin/css/base.css", 413),
        ],
    )
    @pytest.mark.parametrize("length", ["Content-Length", "Transfer-Encoding"])
    def test_refuses_a_large_body_before_it_is_received(self, server, line, status, length):
        is_chunked = length == "Transfer-Encoding"
        head = server.head(line, f"{length}: {'chunked' if is_chunked else HUGE}", has_key=False)
        with closing(server.connect()) as client:
            client.sendall(head)
            if is_chunked:  # its size shows only in what is sent
                client.sendall(b"20000\r\n" + b"x" * 2**17)

            assert read_answer(client)[0] == status

    def test_refuses_a_wrong_method_before_it_reads_the_body(self, server):
        with closing(server.connect()) as client:
            client.sendall(server.head("PUT /api/v1/search/pages", f"Content-Length: {HUGE}"))

            assert read_answer(client)[0] == 405

    @pytest.mark.parametrize(
        ("path", "limit"),
        [
            ("/api/v1/search/pages", "2,162,688"),
            ("/api/v1/ask", "65,536"),
            ("/api/v1/indexes/plain/evidence/", "33,554,432"),
            ("/mcp", "65,536"),
        ],
    )
    def test_names_the_limit_to_clients_with_a_key(self, server, path, limit):
        with closing(server.connect()) as client:
            client.sendall(server.head(f"POST {path}", f"Content-Length: {HUGE}"))

            assert read_answer(client) == (
                413,
                {
                    "code": "too_large",
                    "detail": f"The request body may have at most {limit} bytes.",
                    "fix": "Send less at a time.",
                },
            )

    def test_answers_mcp(self, server):
        call = {"name": "list_indexes", "arguments": {}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        head = server.head(
            "POST /mcp",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        )
        with closing(server.connect()) as client:
            client.sendall(head + body.encode())

            status, answer = read_answer(client)

        assert status == 200
        assert "plain · " in str(answer["result"])

    def test_refuses_a_chunked_body_once_it_exceeds_the_limit(self, server):
        head = server.head(BATCH, "Transfer-Encoding: chunked")
        with closing(server.connect()) as client:
            client.sendall(head + b"%x\r\n" % HUGE)
            client.sendall(b"x" * (values.STRATA_MAX_BATCH_BYTES + 2**17))

            status, error = read_answer(client)

        assert (status, error["code"]) == (413, "too_large")

    def test_accepts_a_large_body_of_unknown_length(self, server):
        def lines() -> Iterator[bytes]:
            for number in range(300):
                yield json.dumps({"text": f"{number} " * 200, "external_id": str(number)}).encode()
                yield b"\n"

        url = f"http://127.0.0.1:{server.port}/api/v1/indexes/plain/artifacts/batch"
        headers = {"Authorization": f"Bearer {server.key}", "X-Forwarded-Proto": "https"}
        with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            answer = client.post(url, content=lines(), headers=headers)

        assert answer.text.count('"added"') == 300

    def test_ends_answers_that_nobody_reads(self, server):
        url = f"http://127.0.0.1:{server.port}/api/v1/"
        headers = {"Authorization": f"Bearer {server.key}", "X-Forwarded-Proto": "https"}
        with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            file = {"file": ("large.txt", b"A large file. " * 2**19)}
            given = client.post("indexes/plain/artifacts/", files=file, headers=headers).json()
        head = server.head(f"GET /api/v1/artifacts/{given['id']}/original")
        unread: list[socket.socket] = []
        with ExitStack() as clients:
            for _ in range(MORE_THAN_THREADS):
                unread.append(clients.enter_context(closing(server.connect(receive_bytes=4_096))))
                unread[-1].sendall(head)

            assert server.is_live()
            assert all(is_reset(each) for each in unread)

    def test_finishes_a_running_request_before_it_stops(self, server):
        line = json.dumps({"text": "The last line.", "external_id": "last"}).encode()
        with closing(server.connect()) as client:
            client.sendall(server.head(BATCH, f"Content-Length: {LARGE}", "Connection: close"))
            os.kill(server.stop_pid, signal.SIGTERM)
            sent = 0
            while server.is_listening():
                client.sendall(b"\n")
                sent += 1
                time.sleep(PAUSE_SECONDS)
            client.sendall(line.ljust(LARGE - sent))

            assert b'"added"' in b"".join(iter(lambda: client.recv(2**16), b""))
        wait_until(lambda: _is_over(server))


def _is_over(server: WebServer) -> bool:
    try:
        return Path(f"/proc/{server.stop_pid}/cmdline").read_bytes() == b""  # a zombie
    except FileNotFoundError:
        return True
