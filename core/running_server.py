"""Finds the server that runs on this data folder, and sends requests to it.

The server holds a file lock while it runs; the kernel releases it when the process ends, however it
ends. The file beside the lock says where the server listens. It is valid only while the lock is
held, so a file that a killed server left behind is ignored. It also holds the server's settings, so
that commands work with the same ones.
"""

import contextlib
import fcntl
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx
from django.conf import settings

from core.atomic_files import write_file

FIND_TIMEOUT_SECONDS = 5.0  # a server that has just started, or is busy, gets this long
LOCK_TIMEOUT_SECONDS = 1.0  # ``_is_lock_held`` takes the lock for a moment
POLL_SECONDS = 0.1

SERVER_FILE = "server.json"
LOCK_FILE = "server.lock"


class ServerUnreachable(Exception):
    """The server stopped answering."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where the server listens, the key it made for this machine's own commands, and the variables
    with which they work."""

    url: str
    key: str
    pid: int
    environment: dict[str, str] = field(default_factory=dict)

    def open_client(self, timeout: float, path: str = "") -> httpx.Client:
        """Open a client that sends the key, to paths below ``path``. ``timeout``: in seconds."""
        return httpx.Client(
            base_url=f"{self.url}{path}",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=timeout,
            trust_env=False,  # ignore proxies: the server runs on this machine
        )

    def request(
        self, method: str, path: str, *, json: Any = None, timeout: float = 30
    ) -> httpx.Response:
        """Send a request to a path from the root. ``timeout``: in seconds.

        Raises:
            ServerUnreachable: there was no answer; the server may have carried out the request.
        """
        try:
            with self.open_client(timeout) as client:
                return client.request(method, path, json=json)
        except httpx.TimeoutException as error:
            raise ServerUnreachable(
                f"The server at {self.url} did not answer in {timeout:g} s."
            ) from error
        except httpx.TransportError as error:
            raise ServerUnreachable(
                f"The server at {self.url} stopped answering: {error}"
            ) from error


_own_key: str | None = None


@contextlib.contextmanager
def registered_server(url: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Register this process until the block ends, so that commands find it; yield the key that they
    use. ``environment``: variables with which they work, too.

    Raises:
        BlockingIOError: another server is registered in this data folder.
    """
    global _own_key
    folder = Path(settings.STRATA_DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with _acquire_lock(folder):
        key = _make_key()
        server = RunningServer(url.rstrip("/"), key, os.getpid(), dict(environment or {}))
        write_file(folder / SERVER_FILE, json.dumps(asdict(server)).encode(), mode=0o600)
        _own_key = key
        try:
            yield key
        finally:
            (folder / SERVER_FILE).unlink(missing_ok=True)
            _own_key = None


@contextlib.contextmanager
def own_key() -> Iterator[str]:
    """A key for requests that this process sends to its own API; only it accepts the key, until the
    block ends."""
    global _own_key
    previous, _own_key = _own_key, _own_key or _make_key()
    try:
        yield _own_key
    finally:
        _own_key = previous


def is_key_of_this_process(secret: str) -> bool:
    return _own_key is not None and hmac.compare_digest(secret.encode(), _own_key.encode())


def find_server() -> RunningServer | None:
    """The server of this data folder, once it answers; None if none answers in time."""
    deadline = time.monotonic() + FIND_TIMEOUT_SECONDS
    folder = Path(settings.STRATA_DATA_DIR)
    while _is_lock_held(folder):
        server = _read_server_file(folder)
        if server is not None and _is_answering(server, deadline - time.monotonic()):
            return server
        if time.monotonic() + POLL_SECONDS >= deadline:
            return None
        time.sleep(POLL_SECONDS)
    return None


def read_environment(data_folder: Path) -> dict[str, str] | None:
    """The variables with which the server of this data folder works; None if none runs."""
    if not _is_lock_held(data_folder):
        return None
    server = _read_server_file(data_folder)
    return None if server is None else server.environment


def _make_key() -> str:
    return f"strata_{secrets.token_urlsafe(32)}"


def _acquire_lock(folder: Path) -> IO[bytes]:
    lock = (folder / LOCK_FILE).open("ab")
    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                lock.close()
                raise
            time.sleep(POLL_SECONDS)
        else:
            return lock


def _is_answering(server: RunningServer, seconds: float) -> bool:
    try:
        return server.request("GET", "/health/live", timeout=max(seconds, 0.5)).is_success
    except ServerUnreachable:
        return False


def _is_lock_held(folder: Path) -> bool:
    try:
        with (folder / LOCK_FILE).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _read_server_file(folder: Path) -> RunningServer | None:
    try:
        return RunningServer(**json.loads((folder / SERVER_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # being removed, or not written yet
