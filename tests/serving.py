"""A real ``strata serve`` in a separate process, which tests can query, kill and restart."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import httpx

ROOT = Path(__file__).resolve().parents[1]
KEY = "strata_key_of_a_served_test"
START_SECONDS = 180
READY_SECONDS = 120  # the model is loaded meanwhile
STOP_SECONDS = 15


def free_port() -> int:
    """A free port of the loopback interface.

    Below the ephemeral ports, which the system might give to another process meanwhile.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Process(Protocol):
    """What tests use of ``subprocess.Popen``."""

    pid: int

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int, /) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Service:
    """The service; its data folder remains when a process ends."""

    program: ClassVar[tuple[str, ...]] = ("manage.py",)
    root = ROOT  # set to another checkout, with its interpreter, to compare both
    python = sys.executable

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self.log = data_dir / "serve.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
            "STRATA_DATA_DIR": str(data_dir),
            "STRATA_ADMIN_KEY": KEY,
            **environment,
        }
        self.process: Process | None = None
        self.api = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=120,
            trust_env=False,
        )

    def start(self) -> None:
        """Start it, and return once it answers."""
        self.process = self.spawn("serve", "--port", str(self.port))
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                # Not a new client for each request: it would load the system's certificates.
                if self.api.get(f"{self.url}/health/ready", timeout=5).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"The service did not start: {self.log.read_text()}")

    def spawn(self, *arguments: str) -> "Process":
        """Start a command in another process, whose output goes to the log."""
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [self.python, *self.program, *arguments],
                cwd=self.root, env=self.environment, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Stop the process if it runs."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run another command on the same folder."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip

    def verify(self, *arguments: str) -> str:
        """The output of ``verify`` if everything agrees; otherwise fails and shows the findings."""
        done = self.manage("verify", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def admin_password(self) -> str:
        """The admin password that the first start prints."""
        found = re.search(r"admin login +admin / (\S+)", self.log.read_text())
        assert found
        return found.group(1)

    def add(self, index: str, **document: Any) -> str:
        """Add a document, wait until it can be searched, and return its artifact's id."""
        return self.wait_until_ready(self.api.post(f"indexes/{index}/artifacts/", json=document))

    def add_file(self, index: str, name: str, content: bytes) -> str:
        """Add a file, as ``add``."""
        files = {"file": (name, content)}
        return self.wait_until_ready(self.api.post(f"indexes/{index}/artifacts/", files=files))

    def wait_until_ready(self, accepted: httpx.Response) -> str:
        assert accepted.status_code in {200, 202}, accepted.text
        artifact_id = accepted.json()["id"]
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            artifact = self.api.get(f"artifacts/{artifact_id}/").json()
            if artifact["status"] == "ready":
                return str(artifact_id)
            assert artifact["status"] != "failed", artifact
            time.sleep(0.1)
        raise AssertionError(f"{artifact} is not ready; the service said: {self.log.read_text()}")


Started = TypeVar("Started", bound=Service)


@contextmanager
def started(service: Started) -> Iterator[Started]:
    """Start the service for the block, and stop it afterwards."""
    service.start()
    try:
        yield service
    finally:
        service.stop()
        service.api.close()


def serving(data_dir: Path, **environment: str) -> AbstractContextManager[Service]:
    """Start a service for the block, and stop it afterwards."""
    return started(Service(data_dir, **environment))
