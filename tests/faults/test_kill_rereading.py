"""kill -9 of the service while a build reads documents anew, and while it is promoted."""

import time

import pytest

from tests.faults.armed import armed, do_all

COUNT = 6  # documents
LIVE_SECONDS = 120


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with armed(tmp_path_factory.mktemp("reread")) as service:
        for number in range(COUNT):
            file = {"file": (f"{number}.txt", f"A 1antern, number {number}.".encode())}
            assert service.api.post("indexes/plain/artifacts/", files=file).status_code == 202
        await_texts(service, "1antern")
        yield service


def find_texts(service) -> list[str]:
    sought = {"index": "plain", "query": "number", "mode": "sparse", "limit": COUNT}
    hits = service.api.post("search/pages", json=sought).json()["hits"]
    assert {hit["verdict"] for hit in hits} <= {"exact"}
    return [hit["text"].split(",")[0].split()[-1] for hit in hits]


def await_texts(service, word: str) -> None:
    """Wait until the searches show this word in all documents."""
    deadline = time.monotonic() + LIVE_SECONDS
    while find_texts(service) != [word] * COUNT:
        assert time.monotonic() < deadline, service.api.get("indexes/plain/builds/").json()
        time.sleep(0.2)


def await_sound(service) -> None:
    deadline = time.monotonic() + LIVE_SECONDS
    while not all(each["is_sound"] for each in service.api.post("verify/").json()["reports"]):
        assert time.monotonic() < deadline, service.api.post("verify/").json()
        time.sleep(0.2)


class TestAServiceKilledWhileItReadsAnew:
    @pytest.mark.parametrize(
        ("step", "moment", "call"),
        [
            ("parse", "before", 2),
            ("parse", "after", 2),
            ("reading", "before", 1),
            ("reading", "after", 3),
            ("show", "before", 1),
            ("show", "after", 1),
        ],
    )
    def test_reads_the_rest_at_the_next_start(self, service, step, moment, call):
        newer = service.armed.with_name("newer")
        newer.touch()
        service.arm(step, moment, call)

        def apply() -> None:
            asked = {"promote": True, "reread": True}
            answer = service.api.post("indexes/plain/builds/", json=asked)
            assert answer.status_code in {200, 202}, answer.text

        do_all(service, [apply])
        await_texts(service, "lantern")
        await_sound(service)

        newer.unlink()
        assert service.api.post("indexes/plain/rollback/").status_code == 200
        assert find_texts(service) == ["1antern"] * COUNT
        await_sound(service)
        assert service.api.post("indexes/plain/prune/").status_code == 200
