"""Qdrant: unreachable, failing, slow, breaking connections, and carrying out requests without an
answer."""

import time

import pytest
from qdrant_client import QdrantClient

from tests.faults.counts import note, times
from tests.faults.servers_rig import (
    QDRANT_TIMEOUT_SECONDS,
    Given,
    moments,
    reading,
    wait_for,
)
from tests.qdrant_loopback.faults import Action

CALLS = ["upsert", "delete", "batch", "query", "describe", "exists"]


@pytest.fixture
def given(rig):
    """Indexed documents, one of which is searched all the time."""
    given = Given(rig, "vectors")
    given.give_many(20)
    given.require_sound()
    return given


class TestAVectorStoreThatIsAway:
    def test_delays_and_loses_nothing(self, rig, given):
        pauses = moments(7, 1.0)

        with reading(given) as reader:
            for edition in range(2, 2 + times("store-away")):
                given.give_many(15, first=1, edition=edition)
                time.sleep(next(pauses))
                rig.qdrant.down()
                given.give_many(5, first=1, edition=edition + 100)
                wait_for(lambda so_far=reader.refused: reader.refused > so_far)
                rig.qdrant.up()
                note("store-away")

        given.require_sound()


class TestAVectorStoreThatFails:
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
    def test_delays_and_loses_nothing(self, rig, given, action, how):
        before = sum(rig.qdrant.fired.values())
        edition = before + 1_000

        with reading(given):
            for _ in range(times("store-failing")):
                for call in CALLS:
                    rig.qdrant.fault(action, call, **how)
                given.give_many(10, first=1, edition=edition)
                given.delete(19)
                given.give(19, edition=edition)
                edition += 1
            given.require_sound()

        struck = sum(rig.qdrant.fired.values()) - before
        assert struck >= 3 * times("store-failing"), rig.qdrant.fired
        note("store-failing", struck)


class TestAVectorStoreThatLosesPoints:
    def test_is_filled_again_and_says_so_meanwhile(self, rig, given):
        collection = "vectors.page_embeddings.1"
        store = QdrantClient(url=rig.qdrant.url, check_compatibility=False)

        with reading(given) as reader:
            for _ in range(times("store-emptied")):
                refused = reader.refused
                store.delete_collection(collection)
                wait_for(lambda so_far=refused: reader.refused > so_far)
                given.require_sound()
                right = reader.right
                wait_for(lambda so_far=right: reader.right > so_far)
                note("store-emptied")
        points, _ = store.scroll(collection, limit=15)
        store.delete(collection, [point.id for point in points], wait=True)
        note("store-emptied")
        store.close()

        given.require_sound()


class TestADeletionThatComesTooLate:
    def test_takes_nothing_along_for_good(self, rig, given):
        """The same text is deleted and added again before the store carries out the deletion."""
        late_seconds = 2 * QDRANT_TIMEOUT_SECONDS
        taken = 0

        for number in range(1, 1 + times("store-late")):
            standing = given.texts[f"vectors-{number}"]
            before = rig.qdrant.fired.get("delay delete", 0)
            rig.qdrant.fault(Action.DELAY, "delete", seconds=late_seconds)
            given.give(number, edition=2)
            wait_for(lambda so_far=before: rig.qdrant.fired.get("delay delete", 0) > so_far)
            asked = time.monotonic()
            given.give(number)
            assert given.texts[f"vectors-{number}"] == standing
            while time.monotonic() < asked + late_seconds + 2:
                report = rig.api.post("indexes/vectors/verify/").json()
                taken += report["findings"].get("missing", 0)
                time.sleep(0.3)
            given.require_sound()

        assert taken > 0
        note("store-late", times("store-late"))
