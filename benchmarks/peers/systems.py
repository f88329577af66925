"""The systems under test: start indexing, kill, remove a document, read the points."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import httpx
import yaml
from qdrant_client import QdrantClient

from benchmarks.peers.corpus import Document, PointFacts, write_documents
from benchmarks.peers.endpoint import DIMENSION
from tests.serving import Service

ROOT = Path(__file__).resolve().parents[2]
IDLE_TIMEOUT_SECONDS = 300
READ_POINTS_SCRIPT = """
import json, sys
import django; django.setup()
from indexing.models import IndexBuild
from indexing.stores import get_store
name = IndexBuild.objects.live().get(index="peer").collection("chunk")
store = get_store()
ids = [point.id for part in store.scroll(name) for point in part]
points = store.retrieve(name, ids, with_vectors=True).values()
json.dump([[point.payload["text"], float(point.dense[0])] for point in points], sys.stdout)
"""


class System(Protocol):
    name: str

    def start_indexing(self, documents: Sequence[Document], model: str) -> None:
        """Start indexing these documents and return at once."""

    def wait_until_idle(self) -> None:
        """Wait until the system has no work left."""

    def kill(self) -> None:
        """Kill the system with SIGKILL."""

    def remove_document(self, document: Document) -> None: ...

    def has_points(self) -> bool: ...

    def read_points(self) -> list[PointFacts]:
        """Read the points that searches currently use."""


class Peer:
    """A pipeline in a separate process, which ends with its run; Qdrant keeps running."""

    def __init__(self, name: str, module: str, qdrant: str, endpoint: str, folder: Path) -> None:
        self.name = name
        self._module = module
        self._qdrant = QdrantClient(url=qdrant, check_compatibility=False)
        self._arguments = ["--qdrant", qdrant, "--endpoint", endpoint, "--folder", str(folder)]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start_indexing(self, documents: Sequence[Document], model: str) -> None:
        write_documents(self._folder / "documents.json", documents)
        self._process = self._run("--model", model)

    def wait_until_idle(self) -> None:
        assert self._process
        self._process.wait(IDLE_TIMEOUT_SECONDS)

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def remove_document(self, document: Document) -> None:
        assert self._run("--delete", document.name).wait(IDLE_TIMEOUT_SECONDS) == 0

    def has_points(self) -> bool:
        return self._qdrant.collection_exists("peer") and self._qdrant.count("peer").count > 0

    def read_points(self) -> list[PointFacts]:
        if not self._qdrant.collection_exists("peer"):
            return []
        found, _ = self._qdrant.scroll("peer", limit=100_000, with_vectors=True)
        vectors: list[Any] = [point.vector for point in found]
        return [PointFacts.read(p.payload, v[0]) for p, v in zip(found, vectors, strict=True)]

    def _run(self, *arguments: str) -> "subprocess.Popen[bytes]":
        module, *options = self._module.split()
        command = [sys.executable, "-m", module, *options, *self._arguments, *arguments]
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT,
                # Without this, a run without internet access waits for a timeout.
                env={**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False"},
            )  # fmt: skip


class StrataSystem:
    """The embedded form, in a process that keeps running."""

    name = "StrataSystem"

    def __init__(self, endpoint: str, folder: Path) -> None:
        self._specs = folder / "specs"
        self._specs.mkdir()
        data = folder / "data"
        data.mkdir()
        self._service = Service(
            data, STRATA_SPECS_DIR=str(self._specs), STRATA_OPENAI_BASE_URL=endpoint
        )
        self._model = ""
        self._sending_thread: threading.Thread | None = None

    def start_indexing(self, documents: Sequence[Document], model: str) -> None:
        is_first = not self._model
        if model != self._model:
            embedding = {"provider": "openai", "model": model, "dimension": DIMENSION}
            (self._specs / "peer.yaml").write_text(
                yaml.safe_dump({"title": "Peer", "embedding": embedding})
            )
        if self._service.process is None or self._service.process.poll() is not None:
            self._service.start()
        if model != self._model and not is_first:
            applied = self._service.manage("apply", "peer", "--promote")
            assert applied.returncode == 0, applied.stderr
        self._model = model
        self._sending_thread = threading.Thread(target=self._send_documents, args=[documents])
        self._sending_thread.start()

    def wait_until_idle(self) -> None:
        assert self._sending_thread
        self._sending_thread.join()
        deadline = time.monotonic() + IDLE_TIMEOUT_SECONDS
        while self._is_running() and not self._is_synced():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def kill(self) -> None:
        self._service.kill()

    def stop(self) -> None:
        self._service.stop()

    def remove_document(self, document: Document) -> None:
        offset = 0
        while True:
            asked = {"limit": 100, "offset": offset}
            page = self._service.api.get("indexes/peer/artifacts/", params=asked).json()
            for artifact in page["results"]:
                if artifact["external_id"] == document.name:
                    gone = self._service.api.delete(f"artifacts/{artifact['id']}/")
                    assert gone.is_success
                    return
            assert page["next"]
            offset += 100

    def has_points(self) -> bool:
        return bool(self._get_index()["nodes"]["synced"])

    def read_points(self) -> list[PointFacts]:
        """Read the points; stops the service meanwhile, because its process owns the engine."""
        was_running = self._is_running()
        self._service.stop()
        read = subprocess.run(
            [sys.executable, "-c", READ_POINTS_SCRIPT], cwd=ROOT, env=self._service.environment,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        if was_running:
            self._service.start()
        return [PointFacts.read(text, component) for text, component in json.loads(read.stdout)]

    def _send_documents(self, documents: Iterable[Document]) -> None:
        """Post the documents; a kill breaks the request, and the next run posts them again."""
        lines = "\n".join(
            json.dumps({"external_id": d.name, "title": d.name, "text": d.text}) for d in documents
        )
        try:
            self._service.api.post(
                "indexes/peer/artifacts/batch",
                content=lines.encode(),
                headers={"Content-Type": "application/x-ndjson"},
            ).raise_for_status()
        except httpx.TransportError:
            assert not self._is_running()

    def _is_running(self) -> bool:
        return self._service.process is not None and self._service.process.poll() is None

    def _is_synced(self) -> bool:
        try:
            report = self._service.api.post("indexes/peer/verify/").json()
        except httpx.TransportError:
            return False
        return bool(report["is_sound"])

    def _get_index(self) -> dict[str, Any]:
        progress: dict[str, Any] = self._service.api.get("indexes/peer/").json()
        return progress
