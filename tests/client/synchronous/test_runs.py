# Made of tests/client/asynchronous/test_runs.py by `make client`: edit that.
"""Following regenerations and evaluations until they have ended."""

import pytest

from strata_client import NotReady, Strata, StrataError
from strata_client._sync import polling
from tests.client.scripted import URL, Script, answers

pytestmark = pytest.mark.anyio


def asking(script: Script) -> Strata:
    return Strata(URL, "a-key", transport=script)


def regeneration(done: int, *, is_synced: bool = False) -> dict:
    return {"id": "r1", "state": "running", "artifacts": {"done": done}, "is_synced": is_synced}


def evaluation(state: str, **fields) -> dict:
    return {"id": "e1", "state": state, "error": None, **fields}


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    slept: list[float] = []

    def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(polling, "sleep", sleep)
    return slept


class TestFollow:
    def test_yields_the_progress_whenever_it_has_changed(self, waits):
        states = [regeneration(0), regeneration(0), regeneration(3)]
        script = Script(
            *(answers(200, state) for state in [*states, regeneration(3, is_synced=True)])
        )
        with asking(script) as strata:
            seen = [now for now in strata.regenerations.follow("r1")]

        assert [now["artifacts"]["done"] for now in seen] == [0, 3, 3]
        assert script.asked == ["GET regenerate/r1/"] * 4
        assert len(waits) == 3

    def test_ends_after_the_timeout(self):
        with asking(Script(answers(200, regeneration(0)))) as strata:
            with pytest.raises(NotReady, match="r1 is still running") as raised:
                strata.regenerations.wait("r1", timeout=0)

        assert raised.value.is_retryable


class TestWait:
    def test_returns_an_evaluation_once_it_is_done(self):
        script = Script(answers(200, evaluation("queued")), answers(200, evaluation("done")))
        with asking(script) as strata:
            assert (strata.evaluations.wait("e1"))["state"] == "done"

        assert script.asked == ["GET evaluations/e1/"] * 2

    def test_raises_why_an_evaluation_failed(self):
        error = {"code": "store_unavailable", "detail": "The vector store did not answer."}
        script = Script(answers(200, evaluation("failed", error=error)))
        with asking(script) as strata:
            with pytest.raises(StrataError, match="did not answer") as raised:
                strata.evaluations.wait("e1")

        assert raised.value.code == "store_unavailable"


class TestRequest:
    def test_sends_requests_without_a_method_of_their_own(self):
        script = Script(answers(200, {"count": 0}), answers(200, None))
        with asking(script) as strata:
            answer = strata.request("GET", "judgements/", params={"verdict": "good"})
            strata.request("POST", "judgements/", json={"index": "plain"})

        assert answer == {"count": 0}
        assert script.asked == ["GET judgements/?verdict=good", "POST judgements/"]
        assert script.body() == {"index": "plain"}
