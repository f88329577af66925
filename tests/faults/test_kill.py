"""kill -9 of the whole service at random moments, while documents are being added and indexed."""

import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.faults.counts import note, times
from tests.faults.owner import every_artifact
from tests.forked import serving_forked
from tests.serving import Service

KILLS = times("kill")
DOCUMENTS = 20 * KILLS
LONGEST_SECONDS = 4.0  # between two kills, at random
DELAY_SECONDS = 1.5 * KILLS * LONGEST_SECONDS / DOCUMENTS  # every kill comes before the last
INDEXED_SECONDS = 60  # after a restart, something more must be indexed within this time
SOUND_SECONDS = 300  # after a restart everything must agree again within this time


def document(number: int) -> dict[str, str]:
    sentence = f"Buoy {number} reported a swell of {number % 9} metres and turned to the west. "
    return {
        "external_id": f"buoy-{number}",
        "title": f"Report of buoy {number}",
        "text": sentence * (1 + number % 12),
    }


class Owner(threading.Thread):
    """Adds its documents one by one, and repeats requests without an answer."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self.service = service
        self.acknowledged: dict[str, str] = {}  # external id -> artifact id
        self.is_paused = threading.Event()
        self.is_idle = threading.Event()

    def run(self) -> None:
        for number in range(DOCUMENTS):
            given = document(number)
            while given["external_id"] not in self.acknowledged:
                if self.is_paused.is_set():
                    self.is_idle.set()
                    time.sleep(0.05)
                    continue
                self.is_idle.clear()
                try:
                    answer = self.service.api.post("indexes/plain/artifacts/", json=given)
                except httpx.TransportError:
                    time.sleep(0.05)
                    continue
                if answer.status_code in {200, 202}:
                    self.acknowledged[given["external_id"]] = answer.json()["id"]
            time.sleep(DELAY_SECONDS)
        self.is_idle.set()


def wait_until_more_is_indexed(service: Service) -> None:
    def count() -> int:
        return int(service.api.get("indexes/plain/").json()["nodes"]["synced"])

    before, deadline = count(), time.monotonic() + INDEXED_SECONDS
    while count() <= before:
        assert time.monotonic() < deadline, "nothing was indexed between two kills"
        time.sleep(0.05)


def wait_until_sound(service: Service) -> dict[str, object]:
    deadline = time.monotonic() + SOUND_SECONDS
    while True:
        answer = service.api.post("indexes/plain/verify/")
        report = answer.json()
        is_sound = answer.status_code == httpx.codes.OK and report["is_sound"]  # 503: still loading
        if is_sound or time.monotonic() > deadline:
            return report
        time.sleep(0.5)


@pytest.fixture
def service(tmp_path: Path):
    with serving_forked(tmp_path) as service:
        yield service


class TestKill:
    def test_loses_and_duplicates_nothing(self, service):
        moments = random.Random(20)
        owner = Owner(service)
        owner.start()

        for kill in range(KILLS):
            wait_until_more_is_indexed(service)
            time.sleep(moments.uniform(0.05, LONGEST_SECONDS))
            assert owner.is_alive(), "every document was in before the last kill"
            service.kill()
            note("kill")
            owner.is_paused.set()
            service.start()
            report = wait_until_sound(service)
            assert report["is_sound"], f"after kill {kill + 1}: {report}"
            present = {
                artifact["external_id"]: artifact["id"]
                for artifact in every_artifact(service, "plain")
            }
            assert owner.acknowledged.items() <= present.items()
            owner.is_paused.clear()
        owner.join(timeout=300)
        report = wait_until_sound(service)

        artifacts = list(every_artifact(service, "plain"))
        assert report["is_sound"], report
        assert sorted(artifact["external_id"] for artifact in artifacts) == sorted(
            f"buoy-{number}" for number in range(DOCUMENTS)
        )
        assert {artifact["status"] for artifact in artifacts} == {"ready"}
        assert report["node_count"] == report["point_count"] > 0
        hits = service.api.get(
            "search/pages", params={"index": "plain", "q": "report of buoy 37", "mode": "sparse"}
        ).json()["hits"]
        assert hits[0]["artifact"]["title"] == "Report of buoy 37"
