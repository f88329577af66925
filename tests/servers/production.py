"""The production form in separate processes: web server, workers that fork, beat."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
import redis

from indexing.models import IndexBuild
from indexing.stores.qdrant import QdrantStore
from tests.serving import ROOT, Process, free_port

START_SECONDS = 180
STOP_SECONDS = 120  # the current batch is finished first, even on a busy machine
MANAGE_SECONDS = 300


def missing(what: str) -> NoReturn:
    """Continuous integration must fail without servers; elsewhere they are optional."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


class Production:
    """Processes that share only a database, a broker, a vector store and a folder."""

    root = ROOT  # set to another checkout, with its interpreter, to compare both
    python = sys.executable

    def __init__(
        self, data_dir: Path, *, database_url: str, redis_url: str, qdrant_url: str, **settings: str
    ) -> None:
        self.data_dir = data_dir
        self.key_prefix = f"strata-test-{secrets.token_hex(4)}:"
        self.logs = data_dir / "logs"
        self.logs.mkdir()
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.servers.settings",
            "SECRET_KEY": secrets.token_hex(),
            "ALLOWED_HOSTS": "*",
            "STRATA_PRIVATE_HOSTS": "127.0.0.1",
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "QDRANT_URL": qdrant_url,
            "STRATA_DATA_DIR": str(data_dir),
            "STRATA_TEST_KEY_PREFIX": self.key_prefix,
            **settings,
        }
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment["STRATA_LISTEN"] = f"127.0.0.1:{self.port}"
        self.api = httpx.Client(base_url=f"{self.url}/api/v1/", timeout=60, trust_env=False)

    def authorise(self, secret: str) -> None:
        """Send this key with each request from now on, as the proxy would."""
        self.api.headers.update({"Authorization": f"Bearer {secret}", "X-Forwarded-Proto": "https"})

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command beside the processes."""
        return subprocess.run(
            [self.python, "manage.py", *arguments],
            cwd=self.root, env=self.environment, capture_output=True, text=True,
            timeout=MANAGE_SECONDS, check=False,
        )  # fmt: skip

    def spawn(self, log: Path, *arguments: str) -> Process:
        """Start a module in a process group of its own."""
        with log.open("ab") as output:
            return subprocess.Popen(
                [self.python, "-m", *arguments], cwd=self.root, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    @contextmanager
    def running(self, name: str, *arguments: str) -> Iterator[Process]:
        """Run a process during the block; its output goes to a log with its name."""
        process = self.spawn(self.logs / name, *arguments)
        try:
            yield process
            if process.poll() is None:
                process.terminate()
                process.wait(STOP_SECONDS)
        finally:
            kill_group(process)

    @contextmanager
    def web(self) -> Iterator[Process]:
        with self.running("web", "gunicorn", "-c", "python:config.gunicorn") as process:
            deadline = time.monotonic() + START_SECONDS
            while True:
                try:
                    assert self.api.get(f"{self.url}/health/live").status_code == 200
                    break
                except httpx.TransportError:
                    assert time.monotonic() < deadline, self.read_logs()
                    time.sleep(0.1)
            yield process

    def worker(self, *queues: str, children: int = 1) -> AbstractContextManager[Process]:
        names = ",".join(queues)
        return self.running(
            names, "celery", "-A", "config", "worker", "-Q", names, "--pool", "prefork",
            "--concurrency", str(children), "--hostname", f"{names}.{secrets.token_hex(3)}@%h",
            "--loglevel", "INFO",
        )  # fmt: skip

    def beat(self) -> AbstractContextManager[Process]:
        return self.running("beat", "celery", "-A", "config", "beat", "--loglevel", "INFO")

    def forget(self) -> None:
        """Drop what the tests left on the servers, but for the rows of the database. A test that
        has the same ids again must not find points of another."""
        self.api.close()
        broker = redis.Redis.from_url(self.environment["REDIS_URL"])
        if left := list(broker.scan_iter(f"{self.key_prefix}*")):
            broker.delete(*left)
        broker.close()
        api_key = self.environment.get("QDRANT_API_KEY", "")
        store = QdrantStore.connect(self.environment["QDRANT_URL"], api_key)
        for build in IndexBuild.objects.all():
            for collection in build.collections():
                store.drop_collection(collection)
        store.close()

    def upload(self, name: str, text: str, *, index: str = "plain") -> str:
        given = self.api.post(f"indexes/{index}/artifacts/", files={"file": (name, text.encode())})
        assert given.status_code == 202, given.text
        return str(given.json()["id"])

    def wait_for(self, is_so: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, self.read_logs()
            time.sleep(0.2)

    def wait_until_ready(self, artifact_ids: Sequence[str], seconds: float) -> None:
        def is_ready(artifact_id: str) -> bool:
            artifact = self.api.get(f"artifacts/{artifact_id}/").json()
            assert artifact["status"] != "failed", artifact
            return bool(artifact["status"] == "ready")

        for artifact_id in artifact_ids:
            self.wait_for(partial(is_ready, artifact_id), seconds)

    def verify(self, index: str = "plain") -> dict[str, Any]:
        """The report of ``verify``, requested from the web server."""
        answer = self.api.post(f"indexes/{index}/verify/")
        assert answer.status_code == 200, answer.text
        report: dict[str, Any] = answer.json()
        return report

    def read_logs(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text()}" for log in self.logs.iterdir())


def kill_group(process: Process) -> None:
    """kill -9, with every child it forked."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
