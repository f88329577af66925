"""A virus scanner for tests: a real server that speaks clamd's protocol, on TCP or a socket."""

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VIRUS = b"X-A-TEST-VIRUS"


class Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        command = self._read_until_null()
        self.server.commands.append(command)
        if command == b"zPING":
            self.request.sendall(self.server.pong)
        elif command == b"zINSTREAM":
            self.request.sendall(self._scan() + b"\0")

    def _scan(self) -> bytes:
        content = b""
        while size := struct.unpack("!I", self._read(4))[0]:
            content += self._read(size)
            if len(content) > self.server.max_bytes:
                return b"INSTREAM size limit exceeded. ERROR"
        self.server.scanned.append(content)
        if self.server.reply:
            return self.server.reply
        return b"stream: Test.Virus FOUND" if VIRUS in content else b"stream: OK"

    def _read_until_null(self) -> bytes:
        command = b""
        while not command.endswith(b"\0"):
            command += self.request.recv(1)
        return command[:-1]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.request.recv(size - len(data))
            if not part:
                raise ConnectionError("The client has left.")
            data += part
        return data


class _Recorded:
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: object) -> None:
        self.commands: list[bytes] = []
        self.scanned: list[bytes] = []
        self.max_bytes = 25 * 2**20
        self.pong = b"PONG\0"
        self.reply = b""
        super().__init__(address, Handler)  # type: ignore[call-arg]

    @property
    def setting(self) -> str:
        address = self.server_address
        return address if isinstance(address, str) else f"{address[0]}:{address[1]}"


class TCPScanner(_Recorded, socketserver.ThreadingTCPServer):
    pass


class SocketScanner(_Recorded, socketserver.ThreadingUnixStreamServer):
    pass


@contextmanager
def running_scanner(path: Path | None = None) -> Iterator[TCPScanner | SocketScanner]:
    """Serve until the block ends, at ``path`` or on a free port."""
    server = TCPScanner(("127.0.0.1", 0)) if path is None else SocketScanner(str(path))
    with server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
