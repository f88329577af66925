"""A receiver on loopback that behaves as a test wants it to."""

import http.server
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from django.db.models import F

from webhooks import sending
from webhooks.models import Delivery

SECRET = "whsec_" + "c2VjcmV0IHdob3NlIGtleSBoYXMgMzIgYnl0ZXMuLi4="  # 32 bytes


class Receiver:
    """Answers each request with the next of ``behaviours``, and repeats the last: a status, or
    ``hang``, ``drip``, ``reset``, ``redirect``."""

    def __init__(self) -> None:
        self.behaviours: list[int | str] = [204]
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.is_over = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((dict(self.headers), body))
                behaviours = receiver.behaviours
                receiver.answer(self, behaviours.pop(0) if behaviours[1:] else behaviours[0])

            def log_message(self, *args: object) -> None: ...

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 64  # accepts all connections of a batch at once

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def answer(self, handler: http.server.BaseHTTPRequestHandler, behaviour: int | str) -> None:
        if behaviour == "hang":
            self.is_over.wait(30)
        elif behaviour == "drip":
            for _ in range(200):  # for 10 seconds, longer than any timeout in the tests
                if self.is_over.wait(0.05):
                    return
                try:
                    handler.wfile.write(b"H")
                except OSError:
                    return
        elif behaviour == "reset":
            at_once = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        elif behaviour == "redirect":
            handler.send_response(302)
            handler.send_header("Location", self.url + "/elsewhere")
            handler.end_headers()
        else:
            handler.send_response(int(behaviour))
            handler.end_headers()

    def close(self) -> None:
        self.is_over.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def make_receiver(settings, monkeypatch) -> Iterator[object]:
    """Make a receiver and add it to the settings, with a short timeout."""
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 1.5)
    settings.STRATA_WEBHOOK_SECRET = SECRET
    settings.STRATA_WEBHOOK_URLS = []
    receivers = []

    def make() -> Receiver:
        receiver = Receiver()
        receivers.append(receiver)
        settings.STRATA_WEBHOOK_URLS = [each.url for each in receivers]
        return receiver

    yield make
    for receiver in receivers:
        receiver.close()


@pytest.fixture
def receiver(make_receiver) -> Receiver:
    return make_receiver()


def wait_out_backoff() -> None:
    """Make the next attempt of each delivery due, as if its backoff had passed."""
    Delivery.objects.update(next_attempt_at=F("created_at"))
