"""Faults of the servers: Redis, PostgreSQL, Qdrant and workers.

One file, so that one process of the tests starts them once.
"""

import json
import os
import random
import re
import signal
import time
import uuid

import pytest
from qdrant_client import QdrantClient

from tests.faults.counts import note, times
from tests.faults.servers_rig import (
    LEASE_SECONDS,
    QDRANT_TIMEOUT_SECONDS,
    AddedDocuments,
    moments,
    reading,
    wait_for,
)
from tests.qdrant_loopback.faults import Action

CALLS = ["upsert", "delete", "batch", "query", "describe", "exists"]
SYNCED = re.compile(r"Task indexing\.tasks\.sync\S+ succeeded")


@pytest.fixture
def idle_rig(servers):
    """The servers without a worker: messages wait, or the test starts its own.

    The tests that use it come first, because each worker takes seconds to start.
    """
    servers.kill_worker()
    servers.broker.client.flushall()
    yield servers
    servers.heal()


class TestMessages:
    def test_may_arrive_twice_and_in_any_order(self, idle_rig):
        rig, documents = idle_rig, AddedDocuments(idle_rig, "messages")
        rng = random.Random(5)
        for edition in range(1, 1 + times("messages-doubled")):
            documents.add_many(25, edition=edition, as_file=True)  # one message each
            if edition % 2:
                documents.delete(rng.randrange(20))

            doubled = sum(
                _double_and_shuffle(rig, f"{rig.key_prefix}{queue}", rng)
                for queue in ("planning", "documents", "indexing")
            )

            assert doubled > 20
            note("messages-doubled", doubled)
            with rig.worker("planning", "documents", "indexing", children=4):
                documents.add_many(25, edition=edition, as_file=True)  # adds the deleted ones again
                documents.require_sound()


def _double_and_shuffle(rig, queue, rng):
    client = rig.broker.client
    waiting = client.lrange(queue, 0, -1)
    copies = []
    for raw in waiting:
        message = json.loads(raw)
        message["properties"]["delivery_tag"] = str(uuid.UUID(int=rng.getrandbits(128)))
        copies.append(json.dumps(message).encode())
    messages = [*waiting, *copies]
    rng.shuffle(messages)
    with client.pipeline() as transaction:
        transaction.delete(queue)
        if messages:
            transaction.rpush(queue, *messages)
        transaction.execute()
    return len(copies)


class TestAFrozenWorker:
    def test_overwrites_nothing_once_it_resumes(self, idle_rig):
        rig, documents = idle_rig, AddedDocuments(idle_rig, "frozen")
        pauses = moments(23, 0.3)
        for edition in range(times("worker-frozen")):
            documents.add_many(20, edition=2 * edition)
            with rig.worker("planning", "documents", "indexing", children=1) as frozen:
                freeze_at_work(rig, frozen, pauses)
                try:
                    documents.add_many(20, edition=2 * edition + 1)
                    time.sleep(LEASE_SECONDS)
                    with rig.worker("planning", "documents", "indexing", children=1):
                        documents.require_sound()
                    before = len(worker_log(rig))
                finally:
                    os.killpg(frozen.pid, signal.SIGCONT)
                # By then it has written everything that it still had to write.
                wait_for(lambda before=before: SYNCED.search(worker_log(rig)[before:]))
                documents.require_sound()
            note("worker-frozen")


def worker_log(rig):
    return (rig.logs / "planning,documents,indexing").read_text()


def freeze_at_work(rig, worker, pauses):
    """Stop the worker while it holds a lease on a batch."""
    while True:
        wait_for(rig.is_claimed)
        time.sleep(next(pauses))
        os.killpg(worker.pid, signal.SIGSTOP)
        if rig.is_claimed():
            return
        os.killpg(worker.pid, signal.SIGCONT)


class TestAnUnreachableBroker:
    def test_prevents_no_document_from_being_saved_and_indexed_later(self, rig):
        documents = AddedDocuments(rig, "broker")
        count = times("broker-away")
        documents.add(0)
        documents.require_sound()

        with reading(documents):
            rig.broker.stop()
            documents.add_many(count, first=1)
            reconciled = rig.api.post("reconcile/")
            assert (reconciled.status_code, reconciled.json()["code"]) == (
                503,
                "broker_unavailable",
            )
            assert int(reconciled.headers["Retry-After"]) > 0
            rig.broker.start()

        documents.require_sound()
        assert documents.refused == 0
        note("broker-away", count)


class TestABrokerStoppedDuringWork:
    def test_stops_no_worker(self, rig):
        documents = AddedDocuments(rig, "lost")
        pauses = moments(13, 3.0)

        for edition in range(2, 2 + times("broker-lost")):
            documents.add(0, sentences=60, edition=edition)  # takes a while
            documents.add_many(9, first=1, edition=edition)
            wait_for(lambda: rig.broker.client.hlen(f"{rig.key_prefix}unacked") > 0)
            rig.broker.stop()
            time.sleep(next(pauses))
            rig.broker.start()
            documents.require_sound()
            note("broker-lost")


class TestAnEmptiedBroker:
    def test_only_delays_the_work(self, rig):
        documents = AddedDocuments(rig, "flushed")
        pauses = moments(11, 0.5)

        for flush in range(times("broker-emptied")):
            documents.add_many(10, first=10 * flush)
            time.sleep(next(pauses))
            rig.broker.client.flushall()
            note("broker-emptied")

        documents.require_sound()


class TestADatabaseThatRestarts:
    def test_loses_nothing_that_was_acknowledged(self, rig):
        documents = AddedDocuments(rig, "restarted")
        documents.add(0)
        documents.require_sound()
        pauses = moments(3, 1.0)

        with reading(documents) as reader:
            for restart in range(times("database-restarted")):
                documents.add_many(10, first=1 + 10 * restart)
                time.sleep(next(pauses))
                rig.postgres.stop()
                wait_for(lambda so_far=reader.refused: reader.refused > so_far)
                rig.postgres.start()
                documents.add_many(5, first=1 + 10 * restart, edition=2 + restart)
                note("database-restarted")

        documents.require_sound()


@pytest.fixture
def documents(rig):
    """Indexed documents, one of which is searched all the time."""
    documents = AddedDocuments(rig, "vectors")
    documents.add_many(20)
    documents.require_sound()
    return documents


class TestAnUnreachableVectorStore:
    def test_only_delays_the_work(self, rig, documents):
        pauses = moments(7, 1.0)

        with reading(documents) as reader:
            for edition in range(2, 2 + times("store-away")):
                documents.add_many(15, first=1, edition=edition)
                time.sleep(next(pauses))
                rig.qdrant.down()
                documents.add_many(5, first=1, edition=edition + 100)
                wait_for(lambda so_far=reader.refused: reader.refused > so_far)
                rig.qdrant.up()
                note("store-away")

        documents.require_sound()


class TestAFailingVectorStore:
    @pytest.mark.parametrize(
        ("action", "how"),
        [
            (Action.FAIL, {"status": 500}),
            (Action.FAIL, {"status": 503}),
            (Action.DELAY, {"seconds": 0.5}),
            (Action.DELAY, {"seconds": 2 * QDRANT_TIMEOUT_SECONDS}),
            (Action.DROP, {}),
            (Action.LOSE, {}),
            (Action.HANG, {"seconds": 2 * QDRANT_TIMEOUT_SECONDS}),
        ],
        ids=["500", "503", "slow", "too-slow", "dropped", "applied-unsaid", "applied-timed-out"],
    )
    def test_only_delays_the_work(self, rig, documents, action, how):
        before = sum(rig.qdrant.fired.values())
        edition = before + 1_000

        with reading(documents):
            for _ in range(times("store-failing")):
                for call in CALLS:
                    rig.qdrant.fault(action, call, **how)
                documents.add_many(10, first=1, edition=edition)
                documents.delete(19)
                documents.add(19, edition=edition)
                edition += 1
            documents.require_sound()

        struck = sum(rig.qdrant.fired.values()) - before
        assert struck >= 3 * times("store-failing"), rig.qdrant.fired
        note("store-failing", struck)


class TestAVectorStoreThatLosesPoints:
    def test_is_filled_again_and_shown_as_incomplete_meanwhile(self, rig, documents):
        collection = "vectors.page_embeddings.1"
        store = QdrantClient(url=rig.qdrant.url, check_compatibility=False)

        with reading(documents) as reader:
            for _ in range(times("store-emptied")):
                refused = reader.refused
                store.delete_collection(collection)
                wait_for(lambda so_far=refused: reader.refused > so_far)
                documents.require_sound()
                right = reader.right
                wait_for(lambda so_far=right: reader.right > so_far)
                note("store-emptied")
        points, _ = store.scroll(collection, limit=15)
        store.delete(collection, [point.id for point in points], wait=True)
        note("store-emptied")
        store.close()

        documents.require_sound()


class TestALateDeletion:
    def test_does_not_delete_a_document_permanently(self, rig, documents):
        """The same text is deleted and added again before the store carries out the deletion."""
        for number in range(1, 1 + times("store-late")):
            late_seconds = 2 * QDRANT_TIMEOUT_SECONDS
            while not self._lose_points(rig, documents, number, late_seconds):
                # The deletion came before the text was there again: the machine is slow.
                late_seconds *= 2
                assert late_seconds <= 16 * QDRANT_TIMEOUT_SECONDS, "No deletion came late."
            note("store-late")

    def _lose_points(self, rig, documents, number: int, late_seconds: int) -> bool:
        """Delay a deletion; return whether it took points of the text that was added again."""
        standing = documents.texts[f"vectors-{number}"]
        before = rig.qdrant.fired.get("delay delete", 0)
        rig.qdrant.fault(Action.DELAY, "delete", seconds=late_seconds)
        documents.add(number, edition=2)
        wait_for(lambda: rig.qdrant.fired.get("delay delete", 0) > before)
        asked = time.monotonic()
        documents.add(number)
        assert documents.texts[f"vectors-{number}"] == standing
        missing = 0
        while time.monotonic() < asked + late_seconds + 2:
            report = rig.api.post("indexes/vectors/verify/").json()
            missing += report["findings"].get("missing", 0)
            time.sleep(0.3)
        documents.require_sound()
        return missing > 0


class TestKilledWorkers:
    def test_lose_and_duplicate_nothing(self, rig):
        documents = AddedDocuments(rig, "killed")
        documents.add(0)
        documents.require_sound()
        pauses = moments(17, 0.5)
        held_count = 0  # kills that left a claim behind

        with reading(documents) as reader:
            # At the first kill the worker holds its nodes for long, even on a fast machine.
            rig.qdrant.fault(Action.DELAY, "upsert", seconds=5)
            for kill in range(times("worker-killed")):
                documents.add_many(20, first=1 + 20 * kill)
                wait_for(rig.is_claimed)
                time.sleep(next(pauses))
                rig.kill_worker()
                held_count += rig.is_claimed()
                note("worker-killed")
                rig.work()

        documents.require_sound()
        assert held_count > 0
        assert reader.refused == 0


class TestManyWorkers:
    def test_sync_one_document_once(self, rig):
        documents = AddedDocuments(rig, "contended")
        documents.add(0, sentences=150)

        with rig.worker("planning", "documents", "indexing", children=8):
            for edition in range(2, 2 + times("workers-contending")):
                documents.add(0, sentences=150, edition=edition)
                wait_for(rig.is_claimed)
                documents.add(0, sentences=140, edition=edition + 100)
                note("workers-contending")
            documents.require_sound()
