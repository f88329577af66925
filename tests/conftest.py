"""Fixtures for all tests."""

import gc
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import override_settings

from core import enqueueing
from core.apps import list_workers
from indexing import embedding, model_loading, reuse
from indexing.models import IndexBuild
from indexing.spec import EmbeddingSpec, StoreSpec
from indexing.stores import CollectionSchema, VectorStore, close_store, get_store
from tests.factories import load_index
from tests.faults.armed import ArmedService, armed
from tests.hashing import HashingEmbedder
from tests.marks import mark
from tests.qdrant_loopback.process import qdrant_loopback

# What is collected lives until the end. The garbage collector would pass over it again and again,
# which takes two fifths of the time of the collection.
gc.disable()

MEMORY = Path("/dev/shm")  # where Linux keeps files in memory
NEEDED_BYTES = 4 * 2**30

# Temporary files in memory: the engine waits for the disk whenever it creates a collection, which
# would take most of the suite's time.
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free >= NEEDED_BYTES
):
    tempfile.tempdir = str(MEMORY)

# A model that a test makes fail is not tried again while other tests run.
model_loading.FIRST_PAUSE_SECONDS = 86_400.0


# Each takes minutes. If one of them started last, its process would finish long after the others.
LONGEST_FILES = (
    "tests/faults/test_servers.py",  # mostly waits, while others compute
    "tests/openapi/test_schemathesis.py",
    "tests/tenants/test_canaries.py",
)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests, and run the longest files first.

    On servers, all tests of a process share one store, so those that use ``store`` and those that
    use ``shared_store`` must be in different modules.
    """
    mark(items)
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FILES))
    shared, alone = (
        {
            item.path
            for item in items
            if item.get_closest_marker("servers") and name in getattr(item, "fixturenames", ())
        }
        for name in ("shared_store", "store")
    )
    if both := shared & alone:
        raise pytest.UsageError(f"Tests here use `store` and `shared_store`: {sorted(both)}")


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


@pytest.fixture(autouse=True)
def kept_connection() -> Iterator[None]:
    """Keep the connection, in which the test's transaction is open, when a command sends a request
    in this process. Django's test client does so, too."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def workers_may_work() -> Iterator[None]:
    """A command that a test runs in this process stops its workers when it ends."""
    yield
    for worker in list_workers():
        worker.stop_requested.clear()


@pytest.fixture(autouse=True)
def every_message_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every message even if the same one waits, because tests capture messages."""
    monkeypatch.setattr(enqueueing, "LOST_MESSAGE_SECONDS", 0)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashingEmbedder:
    """Replaces the model by hashing; records the embedded texts."""
    return _replace_model(monkeypatch)


def _replace_model(monkeypatch: pytest.MonkeyPatch) -> HashingEmbedder:
    fake = HashingEmbedder(EmbeddingSpec())
    monkeypatch.setattr(reuse, "_kept", OrderedDict())
    monkeypatch.setattr(embedding, "get_embedder", lambda spec: fake)
    return fake


@pytest.fixture(scope="session")
def qdrant_url() -> Iterator[str]:
    """URL of a Qdrant server; of the fake server if none is configured."""
    if url := os.environ.get("QDRANT_URL"):
        yield url
        return
    with qdrant_loopback() as server:
        yield server.url


@pytest.fixture
def store(tmp_path, settings, monkeypatch, request) -> Iterator[VectorStore]:
    """The store that the settings name, empty."""
    for name, value in _store_settings(tmp_path, request).items():
        setattr(settings, name, value)
    yield from _open_store(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def shared_store(django_db_setup, django_db_blocker, tmp_path_factory, request):
    """An empty store, embedding by hashing, and a transaction, for fixtures of a module: what
    these write stays until its last test.

    What a test writes to the database is rolled back, but not what it writes to the store: such a
    test needs an index of its own. Transactional tests belong in another module.
    """
    folder = tmp_path_factory.mktemp("shared")
    with (
        override_settings(**_store_settings(folder, request)),
        pytest.MonkeyPatch.context() as patched,
        django_db_blocker.unblock(),
        transaction.atomic(),
    ):
        _replace_model(patched)
        yield from _open_store(folder, patched)
        transaction.set_rollback(True)


def _store_settings(folder: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    places = {"STRATA_VECTORS_DIR": folder / "vectors", "STRATA_FILES_DIR": folder / "files"}
    if settings.STRATA_VECTOR_STORE == "qdrant":
        places["QDRANT_URL"] = request.getfixturevalue("qdrant_url")
    return places


def _open_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VectorStore]:
    close_store()
    is_server = settings.STRATA_VECTOR_STORE == "qdrant"
    made = _collections_made(monkeypatch) if is_server else set()
    yield get_store()
    for name in made:
        get_store().drop_collection(name)
    close_store()
    shutil.rmtree(folder / "vectors", ignore_errors=True)  # megabytes, and pytest keeps folders


def _collections_made(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Collections that the test creates on a server; only these are dropped afterwards."""
    from indexing.stores.qdrant import QdrantStore

    made: set[str] = set()
    ensure_collection = QdrantStore.ensure_collection

    def remember(
        store: QdrantStore, name: str, schema: CollectionSchema, *settings: StoreSpec
    ) -> None:
        made.add(name)
        ensure_collection(store, name, schema, *settings)

    monkeypatch.setattr(QdrantStore, "ensure_collection", remember)
    return made


@pytest.fixture
def build(db, store, embedder) -> IndexBuild:
    """The live build of the plain index, empty."""
    return load_index("plain")


@pytest.fixture
def idle(tmp_path: Path) -> ArmedService:
    """A data folder without a running server. Its commands embed by hashing."""
    data = tmp_path / "data"
    data.mkdir()
    return ArmedService(data)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ArmedService]:
    """A server that embeds by hashing, as its commands do."""
    data = tmp_path / "data"
    data.mkdir()
    with armed(data) as service:
        yield service
