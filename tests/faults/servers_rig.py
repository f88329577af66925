"""The production form on its own servers, which tests can stop, empty and start.

PostgreSQL and Redis are real, Qdrant is a fake (``tests/qdrant_loopback``). Each test ends with the
same check: ``verify`` finds nothing, and all acknowledged documents are there once.
"""

import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis

from tests.forked import Forked
from tests.qdrant_loopback.process import LoopbackProcess, qdrant_loopback
from tests.servers.production import MANAGE_SECONDS, Production, kill_group, missing
from tests.serving import ROOT, Process, free_port

SOUND_SECONDS = 300  # within this time after a fault, the index must be sound without help
ANSWER_SECONDS = 120  # while the database is away
LEASE_SECONDS = 3
QDRANT_TIMEOUT_SECONDS = 2
SETTINGS = {
    "STRATA_TEST_QUICK": "1",
    "STRATA_TEST_LEASE_SECONDS": str(LEASE_SECONDS),
    "STRATA_TEST_SYNC_BATCH": "16",
    "STRATA_TEST_EMBED_SECONDS": "0.01",
    "QDRANT_TIMEOUT_SECONDS": str(QDRANT_TIMEOUT_SECONDS),
    "STRATA_IDLE_TRANSACTION_SECONDS": str(2 * QDRANT_TIMEOUT_SECONDS),
    "STRATA_TEST_UNCONFIRMED_SECONDS": str(5 * QDRANT_TIMEOUT_SECONDS),
    "WEB_CONCURRENCY": "1",
}


def _postgresql_programs() -> Path:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda f: int(f.parent.name))
    if found := shutil.which("pg_ctl"):
        folders.insert(0, Path(found).parent)
    for folder in reversed(folders):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    missing("PostgreSQL's initdb and pg_ctl are not installed.")
    raise AssertionError  # not reached


class PostgreSQL:
    """A PostgreSQL cluster in its own folder."""

    def __init__(self, folder: Path) -> None:
        self._programs = _postgresql_programs()
        self._folder = folder
        # PostgreSQL refuses to run as root.
        self._user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._user:
            shutil.chown(folder, "postgres")
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._connection: psycopg.Connection[Any] | None = None  # until it stops
        self._run("initdb", "--username", "postgres", "--auth", "trust", "--no-instructions")
        with (folder / "postgresql.conf").open("a") as file:
            file.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\n")
            file.write(f"unix_socket_directories = '{folder}'\n")
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "--wait", "--log", str(self._folder / "server.log"), "start")

    def stop(self) -> None:
        """Stop at once, as in a power cut."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._run("pg_ctl", "--wait", "--mode", "immediate", "stop")

    def ask(self, query: str) -> Any:
        """Run a query and return its single value."""
        if self._connection is None:
            self._connection = psycopg.connect(self.url, autocommit=True)
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._user, str(self._programs / program), "--pgdata", str(self._folder), *arguments],
            cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT, timeout=90, check=True,
        )  # fmt: skip


class Redis:
    """A broker that keeps nothing when it stops."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("redis-server") is None:
            missing("redis-server is not installed.")
        self._folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis(port=self.port)
        self._process: Process | None = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
            cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < deadline, "Redis did not start."
                time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.client.connection_pool.disconnect()


# Makes the tables and the builds of all specs, and prints a key.
PREPARE = """
import django
django.setup()
from django.core.management import call_command
from access.models import ApiKey
from indexing.services import load_specs
call_command("migrate", verbosity=0)
load_specs()
print(ApiKey.issue("tests")[1])
"""


class Rig(Production):
    """The servers, and the processes that keep running between tests: web, worker, beat."""

    def __init__(self, folder: Path, postgres: PostgreSQL, broker: Redis, qdrant: LoopbackProcess):
        super().__init__(
            folder,
            database_url=postgres.url,
            redis_url=broker.url,
            qdrant_url=qdrant.url,
            **{**SETTINGS, "STRATA_SPECS_DIR": str(folder / "specs")},
        )
        self.postgres = postgres
        self.broker = broker
        self.qdrant = qdrant
        self._running = ExitStack()
        self._worker: Process | None = None
        (folder / "specs").mkdir()

    def start(self, indexes: list[str]) -> None:
        for name in indexes:
            shutil.copy(ROOT / "specs" / "plain.yaml", self.data_dir / "specs" / f"{name}.yaml")
        prepared = subprocess.run(
            [self.python, "-c", PREPARE], cwd=self.root, env=self.environment,
            capture_output=True, text=True, timeout=MANAGE_SECONDS, check=False,
        )  # fmt: skip
        assert prepared.returncode == 0, prepared.stderr
        self.authorise(prepared.stdout.strip())
        self._running.enter_context(self.web())
        self._running.enter_context(self.beat())

    def spawn(self, log: Path, *arguments: str) -> Process:
        return Forked(["-m", *arguments], self.environment, log)

    def stop(self) -> None:
        self.kill_worker()
        self._running.close()
        self.api.close()

    def work(self) -> None:
        """Start the shared worker if it does not run."""
        if self._worker is None:
            worker = self.worker("planning", "documents", "indexing", children=2)
            self._worker = self._running.enter_context(worker)

    def kill_worker(self) -> None:
        """Kill the shared worker and all its children with SIGKILL."""
        if self._worker is not None:
            kill_group(self._worker)
            self._worker = None

    def heal(self) -> None:
        """Remove pending faults of the store, and start it if it is down."""
        self.qdrant.heal()

    def is_claimed(self) -> bool:
        """Whether a worker holds a lease on nodes now."""
        return bool(
            self.postgres.ask("SELECT count(*) FROM indexing_node WHERE leased_until > now()")
        )


class AddedDocuments:
    """The documents of one index that the service has acknowledged."""

    def __init__(self, rig: Rig, index: str) -> None:
        self.rig = rig
        self.index = index
        self.texts: dict[str, str] = {}  # external id -> its text now
        self.refused = 0  # responses 503, which ask to try again later

    def add(
        self, number: int, *, sentences: int = 0, edition: int = 1, as_file: bool = False
    ) -> str:
        """Add a document until it is acknowledged; return its artifact's id."""
        external_id = f"{self.index}-{number}"
        text = "\n\n".join(
            f"Edition {edition}. Hour {hour}: buoy{number} reported a swell of {hour % 9} metres. "
            + "It turned to the west and lay there with the tide, unseen by any ship. " * 5
            for hour in range(sentences or 1 + number % 6)
        )
        document = {"external_id": external_id, "title": f"Buoy {number}"}
        sent: dict[str, Any] = {"json": {**document, "text": text}}
        if as_file:
            sent = {"data": document, "files": {"file": (f"{external_id}.txt", text.encode())}}
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            answer = self.rig.api.post(f"indexes/{self.index}/artifacts/", **sent)
            if answer.status_code in {200, 202}:
                self.texts[external_id] = text
                return str(answer.json()["id"])
            check_status(answer)
            self.refused += 1
            assert time.monotonic() < deadline, self.rig.read_logs()
            time.sleep(0.2)

    def add_many(
        self, count: int, *, first: int = 0, edition: int = 1, as_file: bool = False
    ) -> None:
        for number in range(first, first + count):
            self.add(number, edition=edition, as_file=as_file)

    def delete(self, number: int) -> None:
        external_id = f"{self.index}-{number}"
        found = self.listed()[external_id]
        deleted = self.rig.api.delete(f"artifacts/{found['id']}/")
        assert deleted.is_success, deleted.text
        del self.texts[external_id]

    def listed(self) -> dict[str, dict[str, Any]]:
        """Every artifact by its external id; fails if one is there twice."""
        found: dict[str, dict[str, Any]] = {}
        while True:
            page = self.rig.api.get(
                f"indexes/{self.index}/artifacts/", params={"limit": 100, "offset": len(found)}
            ).json()
            for artifact in page["results"]:
                assert artifact["external_id"] not in found
                found[artifact["external_id"]] = artifact
            if page["next"] is None:
                return found

    def synced_count(self) -> int:
        progress = self.rig.api.get(f"indexes/{self.index}/")
        check_status(progress)
        return int(progress.json()["nodes"]["synced"]) if progress.is_success else 0

    def require_sound(self) -> None:
        """Wait until the reconciliations have made the index sound, and compare it."""
        deadline = time.monotonic() + SOUND_SECONDS
        while True:
            answer = self.rig.api.post(f"indexes/{self.index}/verify/")
            check_status(answer)
            report = answer.json()
            if answer.is_success and report["is_sound"]:
                # A search that finds a stale hit makes its document due again.
                listed = self.listed()
                if {artifact["status"] for artifact in listed.values()} <= {"ready"}:
                    break
            assert time.monotonic() < deadline, f"{report}\n{self.rig.read_logs()}"
            time.sleep(0.5)
        assert listed.keys() == self.texts.keys()
        assert report["artifact_count"] == len(self.texts)
        assert report["node_count"] == report["point_count"] >= len(self.texts)
        assert report["failed_count"] == 0


def check_status(answer: httpx.Response) -> None:
    """Check that a request during a fault succeeded, or got 503 with ``Retry-After``."""
    if not answer.is_success:
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["Retry-After"]) > 0


class Reader(threading.Thread):
    """Searches repeatedly for a document that is never edited, and checks every answer."""

    def __init__(self, documents: AddedDocuments, number: int) -> None:
        super().__init__(daemon=True)
        self._documents = documents
        self._number = number
        self._is_over = threading.Event()
        self.right = 0
        self.refused = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        # Query by all words of the text: the tests' model hashes words, and hashes may collide.
        expected = self._documents.texts[f"{self._documents.index}-{self._number}"]
        sought = {"index": self._documents.index, "q": expected, "limit": "3"}
        while not self._is_over.wait(0.2):
            try:
                answer = self._documents.rig.api.get("search/pages", params=sought)
                check_status(answer)
                if not answer.is_success:
                    self.refused += 1
                    continue
                hits = answer.json()["hits"]
                best = hits[0]["text"] if hits else ""
                assert best, answer.text
                assert best in expected, answer.text
                self.right += 1
            except (AssertionError, httpx.HTTPError) as error:
                self.wrong.append(f"{type(error).__name__}: {error}")

    def stop(self) -> None:
        self._is_over.set()
        self.join(timeout=90)


@contextmanager
def reading(documents: AddedDocuments, number: int = 0) -> Iterator[Reader]:
    """Search during the block; every answer must be correct, or 503 with ``Retry-After``."""
    reader = Reader(documents, number)
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()
    assert reader.wrong == [], reader.wrong
    assert reader.right > 0


def wait_for(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def moments(seed: int, longest: float) -> Iterator[float]:
    """Random seconds between faults, the same in each run."""
    rng = random.Random(seed)
    while True:
        yield rng.uniform(0.02, longest)


INDEXES = [
    "broker", "lost", "flushed", "messages", "restarted", "vectors", "frozen", "killed",
    "contended",
]  # fmt: skip


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """All servers, started once for the tests of the file, and stopped after it because they use
    the processor even when idle."""
    with ExitStack() as stack:
        # Not below pytest's folders, which PostgreSQL's user may not enter.
        cluster = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strata-pg-")))
        folder = tmp_path_factory.mktemp("servers")
        postgres = PostgreSQL(cluster)
        stack.callback(postgres.stop)
        broker = Redis(folder)
        stack.callback(broker.stop)
        rig = Rig(folder, postgres, broker, stack.enter_context(qdrant_loopback()))
        stack.callback(rig.stop)
        rig.start(INDEXES)
        yield rig


@pytest.fixture
def rig(servers: Rig) -> Iterator[Rig]:
    """The working servers, with a worker."""
    servers.work()
    yield servers
    servers.heal()
