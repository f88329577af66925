"""Redis: away, emptied, and full of messages that come twice and in another order."""

import json
import random
import time
import uuid

import pytest

from tests.faults.counts import note, times
from tests.faults.servers_rig import Given, moments, reading, wait_for


class TestABrokerThatRefuses:
    def test_keeps_no_document_from_being_saved_or_indexed_later(self, rig):
        given = Given(rig, "broker")
        count = times("broker-away")
        given.give(0)
        given.require_sound()

        with reading(given):
            rig.broker.stop()
            given.give_many(count, first=1)
            reconciled = rig.api.post("reconcile/")
            assert (reconciled.status_code, reconciled.json()["code"]) == (
                503,
                "broker_unavailable",
            )
            assert int(reconciled.headers["Retry-After"]) > 0
            rig.broker.start()

        given.require_sound()
        assert given.refused == 0
        note("broker-away", count)


class TestABrokerThatIsLost:
    def test_while_its_messages_are_held_ends_no_worker(self, rig):
        given = Given(rig, "lost")
        pauses = moments(13, 3.0)

        for edition in range(2, 2 + times("broker-lost")):
            given.give(0, sentences=60, edition=edition)  # takes a while
            given.give_many(9, first=1, edition=edition)
            wait_for(lambda: rig.broker.client.hlen(f"{rig.key_prefix}unacked") > 0)
            rig.broker.stop()
            time.sleep(next(pauses))
            rig.broker.start()
            given.require_sound()
            note("broker-lost")


class TestAnEmptiedBroker:
    def test_delays_and_loses_nothing(self, rig):
        given = Given(rig, "flushed")
        pauses = moments(11, 0.5)

        for flush in range(times("broker-emptied")):
            given.give_many(10, first=10 * flush)
            time.sleep(next(pauses))
            rig.broker.client.flushall()
            note("broker-emptied")

        given.require_sound()


class TestMessages:
    @pytest.fixture
    def rig(self, servers):
        """The servers without a worker, so that messages wait."""
        servers.kill_worker()
        servers.broker.client.flushall()
        yield servers
        servers.heal()

    def test_may_come_twice_and_in_any_order(self, rig):
        given = Given(rig, "messages")
        rng = random.Random(5)
        for edition in range(1, 1 + times("messages-doubled")):
            given.give_many(25, edition=edition, as_file=True)  # one message each
            if edition % 2:
                given.delete(rng.randrange(20))

            doubled = sum(
                _double_and_shuffle(rig, f"{rig.key_prefix}{queue}", rng)
                for queue in ("documents", "indexing")
            )

            assert doubled > 20
            note("messages-doubled", doubled)
            with rig.worker("documents", "indexing", children=4):
                given.give_many(25, edition=edition, as_file=True)  # adds the deleted ones again
                given.require_sound()


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
