"""Documents edited and deleted while they are indexed and searched."""

import threading
import time
from dataclasses import dataclass, field
from random import Random

import httpx
import pytest

from tests.faults.armed import armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner

READERS = 3
EDITED = ["auk", "brent", "curlew", "dunlin"]
STANDING = ["eider", "fulmar"]
EMBEDDING_SECONDS = "0.05"  # as long as a real model takes, so that edits come during indexing
READ_SECONDS = 60  # enough for fifty searches of the readers
READER_PAUSE = 0.03  # seconds; without it the readers leave the service no time to index
LONGEST_PAUSE = 0.25  # seconds between two changes, at random


@dataclass
class Version:
    """A text of a document, or None if it was deleted; valid at some time after ``sent_at``."""

    text: str | None
    sent_at: float
    acknowledged_at: float


@dataclass
class Reading:
    name: str
    requested_at: float
    answered_at: float
    answer: httpx.Response

    @property
    def hits(self):
        hits = self.answer.json()["hits"]
        return [hit for hit in hits if hit["artifact"]["title"] == self.name]


@dataclass
class History:
    owner: Owner
    versions: dict[str, list[Version]] = field(default_factory=dict)
    shown_at: dict[str, float] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def put(self, name: str, number: int) -> None:
        text = " ".join(f"Of the {name}, {number}x{line} were seen." for line in range(20))
        sent_at = time.monotonic()
        self.owner.put(name, text)
        version = Version(text, sent_at, time.monotonic())
        self.versions.setdefault(name, []).append(version)

    def delete(self, name: str) -> None:
        sent_at = time.monotonic()
        self.owner.delete(name)
        self.versions[name].append(Version(None, sent_at, time.monotonic()))

    def read(self, seed: int) -> None:
        chance = Random(seed)
        while not self.is_over.is_set():
            name = chance.choice([*self.versions])
            mode = chance.choice(["sparse", "hybrid"])
            requested_at = time.monotonic()
            sought = {"index": "plain", "query": f"the {name}", "mode": mode, "limit": 100}
            answer = self.owner.service.api.post("search/pages", json=sought)
            self.readings.append(Reading(name, requested_at, time.monotonic(), answer))
            time.sleep(READER_PAUSE)

    def check(self, reading: Reading) -> None:
        if reading.answer.status_code == 503:
            assert int(reading.answer.headers["Retry-After"]) > 0
            return
        assert reading.answer.status_code == 200, reading.answer.text
        known = [v for v in self.versions[reading.name] if v.sent_at <= reading.answered_at]
        replaced_at = [version.acknowledged_at for version in known[1:]] + [float("inf")]
        current = [
            version.text
            for version, end in zip(known, replaced_at, strict=True)
            if end >= reading.requested_at
        ]
        for hit in reading.hits:
            assert current != [None], f"a deleted document is found: {hit}"
            if hit["verdict"] == "exact":
                assert any(text is not None and hit["text"] in text for text in current), hit
            else:
                assert any(hit["text"] in (version.text or "") for version in known), hit
        if (
            None not in current
            and self.shown_at.get(reading.name, float("inf")) < reading.requested_at
        ):
            assert reading.hits, f"{reading.name} is not found: {reading.answer.text}"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    with armed(folder, STRATA_FAULT_EMBEDDING_SECONDS=EMBEDDING_SECONDS) as service:
        yield service


@pytest.fixture
def history(service):
    """All documents are indexed, and readers are running."""
    history = History(Owner(service))
    for name in (*EDITED, *STANDING):
        history.put(name, 0)
    history.owner.check()
    history.shown_at = dict.fromkeys((*EDITED, *STANDING), time.monotonic())
    readers = [
        threading.Thread(target=history.read, args=[seed], daemon=True) for seed in range(READERS)
    ]
    for reader in readers:
        reader.start()
    yield history
    history.is_over.set()
    for reader in readers:
        reader.join(timeout=30)


def judge_all(history: History) -> None:
    history.owner.check()
    deadline = time.monotonic() + READ_SECONDS
    while len(history.readings) <= 50:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    history.is_over.set()
    readings = [*history.readings]
    for reading in readings:
        history.check(reading)


class TestAnEdit:
    def test_shows_the_new_text_or_the_old_one_marked_as_stale_while_it_is_indexed(self, history):
        chance = Random(3)

        for number in range(1, times("edit") + 1):
            history.put(chance.choice(EDITED), number)
            note("edit")
            time.sleep(chance.uniform(0, LONGEST_PAUSE))

        judge_all(history)


class TestADeletion:
    def test_hides_a_document_that_is_being_indexed(self, history):
        chance = Random(4)

        for number in range(times("delete")):
            history.put(f"gull{number % 7}", number)
            time.sleep(chance.uniform(0, LONGEST_PAUSE))
            history.delete(f"gull{number % 7}")
            note("delete")

        judge_all(history)
