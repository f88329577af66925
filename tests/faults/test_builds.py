"""The embedding model changed, and the service killed while the new build is made and promoted."""

import threading
import time
from itertools import count, product

import httpx
import pytest

from tests.faults.armed import ArmedService, armed, do_all
from tests.faults.counts import IS_LONG, note, times
from tests.faults.owner import Owner

DOCUMENTS = 12
LIVE_SECONDS = 120
READER_PAUSE = 0.03  # seconds; without it the reader leaves the service no time to index
MOMENTS = ["before", "after"]
STEPS = ["begin", "collection", "plan", "embed", "upsert", "sync", "promote", "drop"]
CASES = (
    list(product(STEPS, MOMENTS))
    if IS_LONG
    else [("upsert", "after"), ("promote", "after"), ("drop", "after")]
)


class Reader(threading.Thread):
    """Searches repeatedly; every answer must contain the document."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(daemon=True)
        self.owner = owner
        self.is_over = threading.Event()
        self.found = 0
        self.misses: list[str] = []

    def run(self) -> None:
        for number in count():
            if self.is_over.is_set():
                return
            name = f"log {number % DOCUMENTS}"
            sought = {"index": "plain", "query": self.owner.texts[name], "limit": 1}
            try:
                answer = self.owner.service.api.post("search/pages", json=sought)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            hits = answer.json()["hits"] if answer.status_code == 200 else []
            if [hit["text"] for hit in hits] == [self.owner.texts[name]]:
                self.found += 1
            else:
                self.misses.append(f"{answer.status_code} {answer.text}")
            time.sleep(READER_PAUSE)


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("specs")
    (folder / "plain.yaml").write_text("title: Plain\n")
    return folder


@pytest.fixture(scope="module")
def service(tmp_path_factory, specs):
    environment = {
        "STRATA_SPECS_DIR": str(specs),
        "STRATA_FAULT_RETIRED_SECONDS": "0",
        "STRATA_FAULT_EMBEDDING_SECONDS": "0.1",
    }
    with armed(tmp_path_factory.mktemp("built"), **environment) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service):
    owner = Owner(service)
    for number in range(DOCUMENTS):
        owner.put(f"log {number}", f"Log {number}: the swell stood at {number * 7} feet.")
    owner.check()
    return owner


@pytest.fixture(scope="module")
def dimensions():
    """A different dimension each time, so that no vector of an earlier build can be reused."""
    return count(300)


def change_model(service: ArmedService) -> None:
    answer = service.api.post("indexes/plain/builds/", json={"promote": True})
    assert answer.status_code in {200, 202}, answer.text


def await_live(service: ArmedService) -> None:
    """Return once the newest build answers searches."""
    deadline = time.monotonic() + LIVE_SECONDS
    while True:
        builds = service.api.get("indexes/plain/builds/").json()["results"]
        if builds[-1]["state"] == "live":
            return
        assert time.monotonic() < deadline, builds
        time.sleep(0.1)


def must_be_sound(service: ArmedService) -> None:
    """Check every build that is kept in sync: the live one and the standby."""
    deadline = time.monotonic() + LIVE_SECONDS
    while True:
        reports = service.api.post("verify/").json()["reports"]
        if all(report["is_sound"] for report in reports):
            return
        assert time.monotonic() < deadline, reports
        time.sleep(0.1)


class TestAServiceKilledWhileItsModelIsChanged:
    @pytest.mark.parametrize(("step", "moment"), CASES)
    def test_keeps_one_complete_build_live(self, service, owner, specs, dimensions, step, moment):
        for dimension, _ in zip(dimensions, range(times("kill-build")), strict=False):
            reader = Reader(owner)
            reader.start()
            model = f"embedding: {{model: model-{dimension}, dimension: {dimension}}}\n"
            (specs / "plain.yaml").write_text(model)
            service.arm(step, moment)

            do_all(service, [lambda: change_model(service)])
            await_live(service)

            reader.is_over.set()
            reader.join(timeout=30)
            assert not reader.misses
            assert reader.found
            must_be_sound(service)
            owner.check()
            note("kill-build")
