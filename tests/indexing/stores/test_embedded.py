"""Tests of the embedded store beyond the contract: it owns its folder and survives a kill."""

import gc
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
import weakref
from collections import namedtuple
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone

from core.exceptions import DiskFull
from indexing.exceptions import StoreLocked, StoreUnavailable
from indexing.stores import CollectionSchema, Match, Point, Query, Range, SparseVector
from indexing.stores.embedded import EmbeddedStore

ROOT = Path(__file__).parents[3]
NAME = "library.page_embeddings.1"
SCHEMA = CollectionSchema(dimension=4, fields={"year": "integer"})


@pytest.fixture
def open_store(tmp_path):
    stores = []

    def open_store(**settings):
        stores.append(EmbeddedStore(tmp_path / "vectors", **settings))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "vectors"


def make_point(number):
    dense = np.array([1, number, 0, 0], dtype=np.float32)
    return Point(uuid.UUID(int=number), dense, SparseVector([1], [1.0]), {"year": number})


def stored_numbers(store, name=NAME):
    return [point.id.int for batch in store.scroll(name) for point in batch]


def python(code, *arguments):
    """A new Python process with Strata on its path."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


WRITER = """
import sys, uuid
from pathlib import Path
import numpy as np
from indexing.stores import CollectionSchema, Point
from indexing.stores.embedded import EmbeddedStore

store = EmbeddedStore(Path(sys.argv[1]))
store.ensure_collection("a.b.1", CollectionSchema(4, {"year": "integer"}))
for number in range(100_000):
    point = Point(uuid.UUID(int=number), np.ones(4, dtype=np.float32), None, {"year": number})
    store.upsert("a.b.1", [point])
    print(number, flush=True)
"""

SECOND_OWNER = """
import sys
from pathlib import Path
from indexing.exceptions import StoreLocked
from indexing.stores.embedded import EmbeddedStore

try:
    EmbeddedStore(Path(sys.argv[1]))
except StoreLocked as error:
    print(error.code, error.detail)
"""


class TestDurability:
    def test_survives_a_restart(self, open_store):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(number) for number in (1, 2, 3)])
        store.replace_payloads(NAME, {uuid.UUID(int=2): {"year": 20}})
        store.delete(NAME, [uuid.UUID(int=3)])
        store.close()

        store = open_store()

        assert stored_numbers(store) == [1, 2]
        assert store.count(NAME, Match("year", [20])) == 1
        hits = store.search(NAME, Query(sparse=SparseVector([1], [1.0])))
        assert [hit.id.int for hit in hits] == [1, 2]
        store.ensure_collection(NAME, SCHEMA)
        assert store.count(NAME) == 2

    def test_keeps_acknowledged_writes_when_killed(self, folder, open_store):
        with python(WRITER, folder) as writer:
            acknowledged = []
            for line in writer.stdout:
                acknowledged.append(int(line))
                if len(acknowledged) == 20:
                    writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL

        store = open_store()  # the lock ended with its owner

        assert set(acknowledged) <= set(stored_numbers(store, "a.b.1"))
        acknowledged_years = Range("year", lte=max(acknowledged))
        assert store.count("a.b.1", acknowledged_years) == len(acknowledged)

    def test_an_incomplete_collection_is_created_again(self, folder, open_store, monkeypatch):
        store = open_store()

        def die(*_):
            raise KeyboardInterrupt  # simulates a kill: no cleanup runs

        with monkeypatch.context() as patch:
            patch.setattr("indexing.stores.embedded.store.create_field_indexes", die)
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)
            with pytest.raises(KeyboardInterrupt):
                store.ensure_collection(NAME, SCHEMA)
        assert (folder / NAME / "shard").exists()
        store.close()

        store = open_store()

        assert not store.has_collection(NAME)
        assert stored_numbers(store) == []
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(1)])
        assert stored_numbers(store) == [1]

    def test_a_partly_dropped_collection_is_gone(self, folder, open_store, monkeypatch):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(1)])
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)
            store.drop_collection(NAME)
        store.close()

        store = open_store()

        assert not store.has_collection(NAME)
        assert [path.name for path in folder.iterdir()] == [".lock"]


class TestOwnership:
    def test_refuses_a_second_process(self, folder, open_store):
        open_store()

        with python(SECOND_OWNER, folder) as second:
            answer, errors = second.communicate(timeout=60)

        assert answer == "store_owned Another process owns the embedded vector store.\n", errors

    def test_refuses_a_second_store_in_this_process(self, open_store):
        store = open_store()
        with pytest.raises(StoreLocked):
            open_store()

        store.close()

        open_store()

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_refuses_to_work_in_a_forked_child(self, open_store):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        reader, writer = multiprocessing.Pipe(duplex=False)

        child = os.fork()
        if child == 0:
            try:
                store.count(NAME)
            except StoreUnavailable as error:
                writer.send(error.detail)
            os._exit(0)
        os.waitpid(child, 0)

        assert reader.poll(10)
        assert "forked" in reader.recv()
        assert store.count(NAME) == 0

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_releases_the_folder_despite_a_forked_child(self, open_store):
        store = open_store()
        here, there = multiprocessing.Pipe()
        child = os.fork()
        if child == 0:
            there.send("running")
            there.recv()
            os._exit(0)
        here.recv()

        store.close()
        try:
            open_store()  # although the child still runs
        finally:
            here.send("end")
            os.waitpid(child, 0)

    def test_cannot_be_used_once_closed(self, open_store):
        store = open_store()
        store.close()
        store.close()

        with pytest.raises(StoreUnavailable, match="closed"):
            store.ping()
        with pytest.raises(StoreUnavailable, match="closed"):
            store.search(NAME, Query(dense=np.ones(4, dtype=np.float32)))

    def test_does_not_keep_closed_stores_in_memory(self, tmp_path):
        store = EmbeddedStore(tmp_path / "other")
        store.close()
        reference = weakref.ref(store)

        del store
        gc.collect()

        assert reference() is None


class TestGuards:
    def test_stops_writing_before_the_disk_is_full(self, open_store, monkeypatch):
        store = open_store(min_free_bytes=2**20)
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(1)])
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2**30, 2**30, 2**19))

        for write in (
            lambda: store.upsert(NAME, [make_point(2)]),
            lambda: store.delete(NAME, [uuid.UUID(int=1)]),
            lambda: store.replace_payloads(NAME, {uuid.UUID(int=1): {}}),
            lambda: store.ensure_collection("another", SCHEMA),
        ):
            with pytest.raises(DiskFull):
                write()

        assert stored_numbers(store) == [1]  # reading still works
        store.drop_collection(NAME)  # and so does freeing space

    def test_raises_store_unavailable_for_errors_of_the_engine(self, open_store, folder):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.close()
        (folder / NAME / "shard" / "edge_config.json").write_text("{", encoding="utf-8")

        store = open_store()

        with pytest.raises(StoreUnavailable, match="failed"):
            store.count(NAME)

    @pytest.mark.parametrize("dense", [[1.0], [1.0] * 5])
    def test_raises_value_error_for_a_wrong_dimension(self, open_store, dense):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        wrong = np.array(dense, dtype=np.float32)

        with pytest.raises(ValueError, match="dimensions"):
            store.upsert(NAME, [Point(uuid.uuid4(), wrong, None, {})])
        with pytest.raises(ValueError, match="dimensions"):
            store.search(NAME, Query(dense=wrong))

    def test_a_drop_during_a_search_is_safe(self, open_store):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(number) for number in range(100)])
        broken = []

        def search():
            query = Query(dense=np.ones(4, dtype=np.float32))
            while hits := _or_none(store.search, NAME, query):
                if len(hits) != 10:
                    broken.append(hits)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        store.drop_collection(NAME)
        for thread in threads:
            thread.join(30)

        assert not broken
        assert not any(thread.is_alive() for thread in threads)


def _or_none(search, *arguments):
    try:
        return search(*arguments)
    except StoreUnavailable:
        return None


class TestNames:
    def test_each_name_has_its_own_folder(self, open_store, folder):
        names = ["a.b-c_1", "A.b-c_1", ".hidden", "..", "a/b", "書庫", "a%2fb"]
        schema = CollectionSchema(4, {})
        store = open_store()
        for number, name in enumerate(names, start=1):
            store.ensure_collection(name, schema)
            store.upsert(name, [make_point(number)])

        assert [stored_numbers(store, name) for name in names] == [
            [number] for number in range(1, len(names) + 1)
        ]
        folders = {path.name.lower() for path in folder.iterdir()} - {".lock"}
        assert len(folders) == len(names)
        assert not any(name.startswith(".") for name in folders)


class TestHalfPrecision:
    def test_of_vectors_is_kept_by_a_restart_and_by_a_copy(self, open_store, folder):
        numbers = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
        numbers /= np.linalg.norm(numbers)
        point = Point(uuid.UUID(int=1), numbers, None, {})

        def read(store, name):
            return store.retrieve(name, [point.id], with_vectors=True)[point.id].dense

        store = open_store()
        for name, datatype in (("half", "float16"), ("full", "float32")):
            store.ensure_collection(name, replace(SCHEMA, datatype=datatype))
            store.upsert(name, [point])
            store.delete(name, [uuid.UUID(int=2)])
        found = [read(store, "half")]
        store.erase_deleted(timezone.now())
        found.append(read(store, "half"))
        store.close()
        reopened = open_store()
        found.append(read(reopened, "half"))

        rounded = numbers.astype(np.float16).astype(np.float32)
        assert not np.array_equal(rounded, numbers)
        for vector in found:
            assert np.array_equal(vector, rounded)
        assert np.allclose(read(reopened, "full"), numbers, atol=1e-7)


class TestOptimize:
    def test_does_not_change_exact_results(self, open_store):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(number) for number in range(200)])
        query = Query(dense=np.ones(4, dtype=np.float32), limit=20)
        before = store.search(NAME, query)

        store.optimize(NAME)

        assert store.search(NAME, query) == before
        assert store.count(NAME) == 200
        with pytest.raises(LookupError):
            store.optimize("nothing")


class TestEraseDeleted:
    def test_removes_deleted_payloads_from_the_files_and_keeps_everything_else(
        self, open_store, folder
    ):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(number) for number in range(200)])
        secret = Point(uuid.UUID(int=999), np.ones(4, dtype=np.float32), None, {"note": "zanzibar"})
        store.upsert(NAME, [secret])
        store.delete(NAME, [secret.id, uuid.UUID(int=7)])
        query = Query(dense=np.ones(4, dtype=np.float32), limit=20)
        before = store.search(NAME, query)

        assert store.erase_deleted(timezone.now() - timedelta(hours=1)) == []
        assert store.erase_deleted(timezone.now()) == [NAME]

        files = [path for path in folder.rglob("*") if path.is_file()]
        assert not any(b"zanzibar" in path.read_bytes() for path in files)
        assert store.search(NAME, query) == before
        assert store.erase_deleted(timezone.now()) == []
        store.close()
        assert stored_numbers(open_store()) == [n for n in range(200) if n != 7]

    def test_loses_no_write_that_comes_meanwhile(self, open_store):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(number) for number in range(500)])
        written: list[int] = []

        def write():
            for number in range(1_000, 1_200):
                store.upsert(NAME, [make_point(number)])
                store.delete(NAME, [uuid.UUID(int=number - 1_000)])
                written.append(number)

        writer = threading.Thread(target=write)
        writer.start()
        while writer.is_alive():
            store.erase_deleted(timezone.now())
        writer.join()

        assert len(written) == 200
        assert stored_numbers(store) == [*range(200, 500), *range(1_000, 1_200)]

    def test_removes_what_a_kill_left_of_a_copy(self, open_store, folder):
        store = open_store()
        store.ensure_collection(NAME, SCHEMA)
        store.upsert(NAME, [make_point(1)])
        store.close()
        (folder / NAME / "shard-unfinished").mkdir()

        assert stored_numbers(open_store()) == [1]
        assert not (folder / NAME / "shard-unfinished").exists()
