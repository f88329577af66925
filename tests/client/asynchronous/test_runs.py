"""Following evaluations until they have ended."""

import pytest

from strata_client import AsyncStrata, NotReady, StrataError
from strata_client._async import polling
from tests.client.scripted import URL, Script, answers

pytestmark = pytest.mark.anyio


def asking(script: Script) -> AsyncStrata:
    return AsyncStrata(URL, "a-key", transport=script)


def evaluation(state: str, **fields) -> dict:
    return {"id": "e1", "state": state, "error": None, **fields}


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    slept: list[float] = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(polling, "sleep", sleep)
    return slept


class TestFollow:
    async def test_yields_the_progress_whenever_it_has_changed(self, waits):
        states = ["queued", "queued", "running", "done"]
        script = Script(*(answers(200, evaluation(state)) for state in states))
        async with asking(script) as strata:
            seen = [now async for now in strata.evaluations.follow("e1")]

        assert [now["state"] for now in seen] == ["queued", "running", "done"]
        assert script.asked == ["GET evaluations/e1/"] * 4
        assert len(waits) == 3

    async def test_ends_after_the_timeout(self):
        async with asking(Script(answers(200, evaluation("running")))) as strata:
            with pytest.raises(NotReady, match="e1 is still running") as raised:
                await strata.evaluations.wait("e1", timeout=0)

        assert raised.value.is_retryable


class TestWait:
    async def test_returns_an_evaluation_once_it_is_done(self):
        script = Script(answers(200, evaluation("queued")), answers(200, evaluation("done")))
        async with asking(script) as strata:
            assert (await strata.evaluations.wait("e1"))["state"] == "done"

        assert script.asked == ["GET evaluations/e1/"] * 2

    async def test_raises_why_an_evaluation_failed(self):
        error = {"code": "store_unavailable", "detail": "The vector store did not answer."}
        script = Script(answers(200, evaluation("failed", error=error)))
        async with asking(script) as strata:
            with pytest.raises(StrataError, match="did not answer") as raised:
                await strata.evaluations.wait("e1")

        assert raised.value.code == "store_unavailable"


class TestRequest:
    async def test_sends_requests_without_a_method_of_their_own(self):
        script = Script(answers(200, {"count": 0}), answers(200, None))
        async with asking(script) as strata:
            answer = await strata.request("GET", "judgements/", params={"verdict": "good"})
            await strata.request("POST", "judgements/", json={"index": "plain"})

        assert answer == {"count": 0}
        assert script.asked == ["GET judgements/?verdict=good", "POST judgements/"]
        assert script.body() == {"index": "plain"}
