"""The stand-in for Qdrant in a separate process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.qdrant_loopback.faults import ANY, Action

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 15


class LoopbackProcess:
    """The address of the server, and methods to cause faults in it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "The loopback server did not start."
        ports = json.loads(line)
        self.url = f"http://127.0.0.1:{ports['port']}"
        self._control = httpx.Client(
            base_url=f"http://127.0.0.1:{ports['control_port']}", timeout=30, trust_env=False
        )

    def fault(self, action: Action, call: str = ANY, *, count: int = 1, **how: Any) -> None:
        """Request a fault; see ``faults.Fault``."""
        fault = {"action": action, "call": call, "count": count, **how}
        self._control.post("/faults", json=fault).raise_for_status()

    def heal(self) -> None:
        """Remove pending faults, and start the server if it is down."""
        self._control.delete("/faults").raise_for_status()
        self._control.post("/up").raise_for_status()

    def down(self) -> None:
        self._control.post("/down").raise_for_status()

    def up(self) -> None:
        self._control.post("/up").raise_for_status()

    def kill(self, node: int) -> None:
        """Kill one of three nodes."""
        change = {"node": node, "is_dead": True}
        self._control.post("/nodes", json=change).raise_for_status()

    def revive(self, node: int, *, stale_seconds: float = 0) -> None:
        """Bring a node back, which answers with its old data for ``stale_seconds``."""
        change = {"node": node, "is_dead": False, "stale_seconds": stale_seconds}
        self._control.post("/nodes", json=change).raise_for_status()

    def set_status(self, status: str) -> None:
        """Set the status that every collection reports, such as ``yellow``."""
        self._control.post("/status", json={"status": status}).raise_for_status()

    @property
    def fired(self) -> dict[str, int]:
        """ "action call" -> how often it happened."""
        return dict(self._control.get("/faults").raise_for_status().json()["fired"])

    @property
    def served(self) -> dict[str, int]:
        """Call -> how often it was requested."""
        return dict(self._control.get("/faults").raise_for_status().json()["served"])

    def stop(self) -> None:
        self._control.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.communicate()


@contextmanager
def qdrant_loopback(*, shards: int | None = None, root: Path = ROOT) -> Iterator[LoopbackProcess]:
    """Start the server of the checkout ``root`` for the block, on free ports; with ``shards``, it
    simulates three nodes."""
    command = [sys.executable, "-m", "tests.qdrant_loopback", "--port", "0", "--control-port", "0"]
    if shards is not None:
        command += ["--shards", str(shards)]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    server = LoopbackProcess(process)
    try:
        yield server
    finally:
        server.stop()
