"""Questions over HTTP while the language model fails. Each test has an endpoint of its own, because
after a failure no question waits for the same one."""

import pytest

from tests.clients import client_with_key
from tests.factories import give, load_index, sync
from tests.language_models.test_llm import Endpoint, endpoint, fails, out_of_memory, streams

__all__ = ["endpoint"]  # a fixture

QUESTION = {"index": "plain", "query": "When do boats leave?"}
TIDE = "Boats leave before dawn."


@pytest.fixture(autouse=True)
def _document(transactional_db, store, embedder, settings, endpoint):
    settings.STRATA_LLM_RETRIES = 0
    sync(load_index("plain"), give(TIDE))


def ask(accepted: str):
    headers = {"Accept": accepted}
    return client_with_key().post("/api/v1/ask", QUESTION, format="json", headers=headers)


def test_an_answer_is_quoted_with_a_note(endpoint: Endpoint):
    endpoint.scripts = [fails(500)]

    written = ask("application/json").json()

    assert (written["answer"], written["model_name"]) == (f"{TIDE} [1]", "extractive")
    assert written["hits"]
    assert "because no model wrote it" in written["notes"][0]


def test_an_answer_that_breaks_off_keeps_its_hits(endpoint: Endpoint):
    endpoint.scripts = [streams("Boats ", then=out_of_memory)]

    written = ask("application/json").json()

    assert (written["answer"], written["citations"]) == (None, [])
    assert written["hits"][0]["text"] == TIDE
    assert written["notes"][0].startswith("No answer was written: The language model")


def test_a_stream_that_breaks_off_ends_with_an_error_event(endpoint: Endpoint):
    endpoint.scripts = [streams("Boats ", then=out_of_memory)]

    lines = b"".join(ask("text/event-stream").streaming_content).decode().splitlines()

    assert [line for line in lines if line.startswith("event:")] == [
        "event: metadata",
        "event: chunk",
        "event: error",
    ]
