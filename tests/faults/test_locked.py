"""Another process holds SQLite's write lock for seconds."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.armed import ArmedService, armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner, Refused

WAIT_SECONDS = 3  # how long a writer waits for the lock; 30 in production
WRITERS = 4

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another process holds the lock during the block."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, database],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == "locked\n"
        yield
    finally:
        holder.communicate(timeout=30)
    assert holder.returncode == 0


def put_until_taken(owner: Owner, name: str, text: str) -> None:
    """Repeat the request for as long as the service asks for it."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return owner.put(name, text)
        except Refused as refused:
            if refused.answer.status_code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(int(refused.answer.headers["Retry-After"]))


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[ArmedService]:
    folder = tmp_path_factory.mktemp("locked")
    with armed(folder, STRATA_FAULT_DATABASE_SECONDS=str(WAIT_SECONDS)) as service:
        yield service


class TestALockedDatabase:
    def test_refuses_writes_continues_reading_and_loses_nothing(self, service):
        owner = Owner(service)
        owner.put("kept", "The kept text stands.")
        owner.check()

        for number in range(times("locked")):
            names = [f"text {number} {writer}" for writer in range(WRITERS)]
            owner.put(f"underway {number}", "Still to be indexed when the lock comes. " * 20)

            with locked(service.data_dir / "strata.sqlite3"), ThreadPoolExecutor() as threads:
                writes = [threads.submit(owner.put, name, f"The {name}.") for name in names]
                while not all(write.done() for write in writes):
                    assert owner.find("kept", "kept text")
            for name, write in zip(names, writes, strict=True):
                refused = write.exception()
                assert isinstance(refused, Refused)
                assert refused.answer.status_code == 503
                assert int(refused.answer.headers["Retry-After"]) > 0
                put_until_taken(owner, name, f"The {name}.")

            owner.check(asks_for_reconciliation=True)
            note("locked")

    def test_delays_writes_if_the_lock_is_short(self, service):
        owner = Owner(service)

        with ThreadPoolExecutor() as threads:
            with locked(service.data_dir / "strata.sqlite3"):
                write = threads.submit(owner.put, "patient", "It waits.")
            write.result(timeout=60)

        assert owner.read("patient") == "It waits."
        owner.delete("patient")
        note("locked")
