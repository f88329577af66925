"""The HTTP server that answers Qdrant's calls, and the one that controls its faults."""

import json
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter
from qdrant_client import models

from tests.qdrant_loopback.calls import KINDS, Engine, Refused, answer_call, find_call
from tests.qdrant_loopback.cluster import Cluster
from tests.qdrant_loopback.faults import ANY, Action, Fault, Faults


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open from call to call as the client expects."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet; otherwise each answer waits for an acknowledgement
    server: "Listener"

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = unquote(urlsplit(self.path).path)
        try:
            status, answer = self.server.loopback.answer(self.command, path, body)
            headers: dict[str, str] = {}
        except Refused as error:
            status, headers = error.status, error.headers
            detail = str(error)
            is_json = error.is_json and detail
            answer = {"status": {"error": detail}, "time": 0.0} if is_json else detail
        if answer is None:
            self.close_connection = True
            return
        content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _serve

    def log_message(self, *args: object) -> None:
        pass


class Listener(ThreadingHTTPServer):
    """Breaks its open connections when it closes, as a killed server does."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, loopback: "Loopback | Control") -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.loopback = loopback
        self._open: set[Any] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=[0.02], daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of clients whose connection a fault broke."""


class Loopback:
    """The server that answers Qdrant's calls; its data stays while it is down."""

    def __init__(self, port: int, engine: Engine) -> None:
        self.engine = engine
        self.faults = Faults()
        self._listener: Listener | None = None
        self.port = port
        self.up()

    def up(self) -> None:
        if self._listener is None:
            self._listener = Listener(self.port, self)
            self.port = self._listener.server_port
            self._listener.start()

    def down(self) -> None:
        """Break open connections and refuse new ones."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and body; a body of None breaks the connection.

        Raises:
            Refused: the answer is an error.
        """
        began = time.perf_counter()
        call, name = find_call(method, path)
        fault = self.faults.take(call.kind)
        if fault is not None and fault.action == Action.FAIL:
            raise Refused(fault.status, fault.detail, fault.retry_after, is_json=fault.is_json)
        if fault is not None and fault.action == Action.DELAY:
            time.sleep(fault.seconds)
        if fault is not None and fault.action == Action.DROP:
            return 0, None
        result = answer_call(self.engine, call, name, body)
        if fault is not None and fault.action == Action.HANG:
            time.sleep(fault.seconds)
        if fault is not None and fault.action in {Action.LOSE, Action.HANG}:
            return 0, None
        if call.kind == "info":  # the only answer that a server does not wrap
            return 200, result
        return 200, {"result": result, "status": "ok", "time": time.perf_counter() - began}


class Control:
    """The server that controls the other; faults do not affect it."""

    def __init__(self, port: int, loopback: Loopback) -> None:
        self._loopback = loopback
        self._listener = Listener(port, self)
        self.port = self._listener.server_port
        self._listener.start()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        match method, path:
            case "POST", "/faults":
                fault = TypeAdapter(Fault).validate_json(body)
                if fault.call not in KINDS | {ANY}:
                    return 400, {"detail": f"call may be one of {sorted(KINDS | {ANY})}"}
                self._loopback.faults.add(fault)
            case "DELETE", "/faults":
                self._loopback.faults.clear()
            case "POST", "/down":
                self._loopback.down()
            case "POST", "/up":
                self._loopback.up()
            case "POST", "/nodes":
                self._change_node(json.loads(body))
            case "POST", "/status":
                status = models.CollectionStatus(json.loads(body)["status"])
                self._loopback.engine.status = status
            case "GET", "/faults":
                pass
            case _:
                return 404, {"detail": f"There is no {method} {path}."}
        return 200, self._loopback.faults.as_json()

    def _change_node(self, change: dict[str, Any]) -> None:
        engine = self._loopback.engine
        assert isinstance(engine.client, Cluster)
        with engine.lock:
            if change["is_dead"]:
                engine.client.kill(change["node"])
            else:
                engine.client.revive(change["node"], change["stale_seconds"])
