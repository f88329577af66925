"""Workers: killed with all their children, frozen past their lease, and many for one document."""

import os
import re
import signal
import time

import pytest

from tests.faults.counts import note, times
from tests.faults.servers_rig import LEASE_SECONDS, Given, moments, reading, wait_for
from tests.qdrant_loopback.faults import Action

SYNCED = re.compile(r"Task indexing\.tasks\.sync\S+ succeeded")


class TestKilledWorkers:
    def test_lose_and_double_nothing(self, rig):
        given = Given(rig, "killed")
        given.give(0)
        given.require_sound()
        pauses = moments(17, 0.5)
        held_count = 0  # kills that left a claim behind

        with reading(given) as reader:
            # At the first kill the worker holds its nodes for long, even on a fast machine.
            rig.qdrant.fault(Action.DELAY, "upsert", seconds=5)
            for kill in range(times("worker-killed")):
                given.give_many(20, first=1 + 20 * kill)
                wait_for(rig.is_claimed)
                time.sleep(next(pauses))
                rig.kill_worker()
                held_count += rig.is_claimed()
                note("worker-killed")
                rig.work()

        given.require_sound()
        assert held_count > 0
        assert reader.refused == 0


class TestAFrozenWorker:
    @pytest.fixture
    def rig(self, servers):
        """The servers without a worker: the test starts its own."""
        servers.kill_worker()
        servers.broker.client.flushall()
        yield servers
        servers.heal()

    def test_overwrites_nothing_once_it_wakes(self, rig):
        given = Given(rig, "frozen")
        pauses = moments(23, 0.3)
        for edition in range(times("worker-frozen")):
            given.give_many(20, edition=2 * edition)
            with rig.worker("documents", "indexing", children=1) as frozen:
                freeze_at_work(rig, frozen, pauses)
                try:
                    given.give_many(20, edition=2 * edition + 1)
                    time.sleep(LEASE_SECONDS)
                    with rig.worker("documents", "indexing", children=1):
                        given.require_sound()
                    before = len(worker_log(rig))
                finally:
                    os.killpg(frozen.pid, signal.SIGCONT)
                # By then it has written everything that it still had to write.
                wait_for(lambda before=before: SYNCED.search(worker_log(rig)[before:]))
                given.require_sound()
            note("worker-frozen")


def worker_log(rig):
    return (rig.logs / "documents,indexing").read_text()


def freeze_at_work(rig, worker, pauses):
    """Stop the worker while it holds a lease on a batch."""
    while True:
        wait_for(rig.is_claimed)
        time.sleep(next(pauses))
        os.killpg(worker.pid, signal.SIGSTOP)
        if rig.is_claimed():
            return
        os.killpg(worker.pid, signal.SIGCONT)


class TestManyWorkers:
    def test_at_one_document_sync_it_once(self, rig):
        given = Given(rig, "contended")
        given.give(0, sentences=150)

        with rig.worker("documents", "indexing", children=8):
            for edition in range(2, 2 + times("workers-contending")):
                given.give(0, sentences=150, edition=edition)
                wait_for(rig.is_claimed)
                given.give(0, sentences=140, edition=edition + 100)
                note("workers-contending")
            given.require_sound()
