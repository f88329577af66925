"""The production form at small scale: web server, PostgreSQL, Redis, workers that fork."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from django.db import connection

from access.models import ApiKey
from indexing.models import IndexBuild, Node
from indexing.services import sync_indexes
from indexing.stores import close_store
from indexing.verification import verify_build
from tests.servers.conftest import REDIS_URL
from tests.serving import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

START_SECONDS = 60
SETTLED_SECONDS = 120  # the model is loaded meanwhile
STOP_SECONDS = 20


class Production:
    """Its processes share a database, a broker and a folder, and nothing else."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.key_prefix = f"strata-test-{secrets.token_hex(4)}:"
        self.logs = data_dir / "logs"
        self.logs.mkdir()
        database_url = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}"
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.servers.settings",
            "SECRET_KEY": secrets.token_hex(),
            "ALLOWED_HOSTS": "*",
            "DATABASE_URL": database_url.format(**connection.settings_dict),
            "REDIS_URL": REDIS_URL,
            "QDRANT_URL": os.environ.get("QDRANT_URL", "http://127.0.0.1:1"),
            "STRATA_DATA_DIR": str(data_dir),
            "STRATA_MODELS_DIR": str(ROOT / "var" / "models"),
            "STRATA_LOG_LEVEL": "INFO",
            "STRATA_TEST_KEY_PREFIX": self.key_prefix,
        }
        if "QDRANT_URL" not in os.environ:
            self.environment["STRATA_TEST_EMBEDDED"] = "1"
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        _, secret = ApiKey.issue("the test")
        self.api = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            # As the proxy in front of it would say.
            headers={"Authorization": f"Bearer {secret}", "X-Forwarded-Proto": "https"},
            timeout=60,
            trust_env=False,
        )

    @contextmanager
    def running(self, name: str, *arguments: str) -> "Iterator[subprocess.Popen[bytes]]":
        """A process for the block; what it says goes to a log of its name."""
        with (self.logs / name).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments], cwd=ROOT, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield process
            if process.poll() is None:
                process.terminate()
                process.wait(STOP_SECONDS)
        finally:
            kill_group(process)

    @contextmanager
    def web(self) -> Iterator[None]:
        with self.running(
            "web", "waitress", f"--listen=127.0.0.1:{self.port}", "--trusted-proxy=127.0.0.1",
            "--trusted-proxy-headers=x-forwarded-proto", "config.wsgi:application",
        ):  # fmt: skip
            deadline = time.monotonic() + START_SECONDS
            while True:
                try:
                    assert self.api.get(f"{self.url}/health/live").status_code == 200
                    break
                except httpx.TransportError:
                    assert time.monotonic() < deadline, self.said()
                    time.sleep(0.1)
            yield

    def worker(self, queue: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
        return self.running(
            queue, "celery", "-A", "config", "worker", "-Q", queue, "--pool", "prefork", "-c", "1",
            "-n", f"{queue}.{self.port}@%h", "--loglevel", "INFO",
        )  # fmt: skip

    def upload(self, name: str, text: str) -> str:
        given = self.api.post("indexes/plain/artifacts/", files={"file": (name, text.encode())})
        assert given.status_code == 202, given.text
        return str(given.json()["id"])

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SETTLED_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.5)

    def wait_until_ready(self, artifact_ids: list[str], *, is_sweeping: bool = False) -> None:
        """``is_sweeping`` stands for beat, which would do it each minute."""

        def is_ready(artifact_id: str) -> bool:
            if is_sweeping:
                assert self.api.post("sweep/").is_success
            artifact = self.api.get(f"artifacts/{artifact_id}/").json()
            assert artifact["status"] != "failed", artifact
            return artifact["status"] == "ready"

        for artifact_id in artifact_ids:
            self.wait_for(partial(is_ready, artifact_id))

    def said(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text()}" for log in self.logs.iterdir())


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    """kill -9, with every child it forked."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def notes(number: int, sentences: int = 3) -> str:
    sentence = f"Buoy {number} reported a swell of {number % 9} metres and turned to the west. "
    return "\n\n".join(f"Hour {hour}. {sentence * 3}" for hour in range(sentences))


@pytest.fixture
def production(transactional_db, broker: redis.Redis, tmp_path) -> Iterator[Production]:
    sync_indexes()
    production = Production(tmp_path)
    yield production
    production.api.close()
    if left := list(broker.scan_iter(f"{production.key_prefix}*")):
        broker.delete(*left)


@pytest.fixture
def verify(production: Production, settings) -> Iterator[Any]:
    """Once the workers have stopped: what ``verify`` finds in the store they wrote."""
    close_store()
    settings.STRATA_FILES_DIR = production.data_dir / "files"
    settings.STRATA_VECTORS_DIR = production.data_dir / "vectors"
    if url := os.environ.get("QDRANT_URL"):
        settings.STRATA_VECTOR_STORE, settings.QDRANT_URL = "qdrant", url
        settings.QDRANT_API_KEY = os.environ.get("QDRANT_API_KEY", "")
    yield lambda: verify_build(IndexBuild.objects.live().get(index="plain"))
    close_store()


class TestWorkers:
    def test_make_uploads_searchable(self, production, verify):
        with production.web(), production.worker("documents"), production.worker("indexing"):
            uploaded = [production.upload(f"buoy-{n}.txt", notes(n)) for n in range(8)]
            production.wait_until_ready(uploaded)

        report = verify()
        assert report.findings == {}
        assert report.artifact_count == len(uploaded)
        assert report.point_count == report.node_count >= len(uploaded)

    def test_lose_nothing_to_lost_messages_and_a_killed_worker(self, production, broker, verify):
        with production.web():
            uploaded = [production.upload(f"buoy-{n}.txt", notes(n, 60)) for n in range(12)]
            messages = list(broker.scan_iter(f"{production.key_prefix}*"))
            assert broker.delete(*messages) > 0
            with production.worker("documents"):
                assert production.api.post("sweep/").is_success
                with production.worker("indexing") as worker:
                    production.wait_for(Node.objects.filter(lease_token__isnull=False).exists)
                    kill_group(worker)
                assert Node.objects.filter(state=Node.State.PENDING).exists()

                with production.worker("indexing"):
                    production.wait_until_ready(uploaded, is_sweeping=True)

        report = verify()
        assert report.findings == {}
        assert report.artifact_count == len(uploaded)
        assert report.point_count == report.node_count > len(uploaded)
