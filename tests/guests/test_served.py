"""A real service, asked by the client of OpenAI, and as chat windows and builders ask it."""

import json
from pathlib import Path

import httpx
import openai
import pytest

from tests.faults.armed import armed
from tests.language_models.test_llm import fails, running_endpoint, says, streams
from tests.serving import KEY

TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
QUESTION = "When do boats leave the harbour?"
REQUESTS = json.loads((Path(__file__).parent / "requests_of_programs.json").read_text())


@pytest.fixture(scope="module")
def endpoint():
    with running_endpoint() as server:
        yield server


@pytest.fixture(scope="module")
def service(endpoint, tmp_path_factory):
    """A service whose answers the endpoint writes."""
    settings = {
        "STRATA_LLM_BASE_URL": endpoint.url,
        "STRATA_LLM_MODEL": "a-model",
        "STRATA_LLM_RETRIES": "0",
    }
    with armed(tmp_path_factory.mktemp("guests"), **settings) as service:
        service.add("plain", text=TIDE, title="Harbour", external_id="harbour")
        yield service


@pytest.fixture(autouse=True)
def forgotten(endpoint):
    endpoint.requests.clear()
    endpoint.scripts = [streams("Boats leave ", "before dawn ", "[1].")]


@pytest.fixture
def client(service):
    yield from make_client(service, KEY)


def make_client(service, key):
    with (
        httpx.Client(trust_env=False, timeout=60) as http,
        openai.OpenAI(
            base_url=f"{service.url}/v1", api_key=key, http_client=http, max_retries=0
        ) as client,
    ):
        yield client


def ask(client, **more):
    messages = [{"role": "user", "content": QUESTION}]
    return client.chat.completions.create(**{"model": "plain", "messages": messages, **more})


class TestTheClientOfOpenAi:
    def test_lists_models(self, client):
        assert "plain" in [model.id for model in client.models.list()]
        assert client.models.retrieve("plain:papers").owned_by == "strata"

    def test_chats(self, client):
        completion = ask(client, temperature=0.2)

        [choice] = completion.choices
        assert choice.finish_reason == "stop"
        assert choice.message.content.startswith(
            "Boats leave before dawn [1].\n\nSources:\n- [1] ["
        )
        [annotation] = choice.message.annotations
        cited = annotation.url_citation
        assert choice.message.content[cited.start_index : cited.end_index] == (
            "Boats leave before dawn [1]."
        )
        assert (annotation.type, cited.title) == ("url_citation", "Harbour")
        page = httpx.get(cited.url, trust_env=False)
        assert page.status_code == 200
        assert completion.usage.completion_tokens > 5

    def test_chats_in_a_stream(self, client):
        chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))

        deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
        texts = [delta.content for delta in deltas if delta.content]
        assert texts[:3] == ["Boats leave ", "before dawn ", "[1]."]
        assert "".join(texts).startswith("Boats leave before dawn [1].\n\nSources:\n")
        [[annotation]] = [each.annotations for each in deltas if hasattr(each, "annotations")]
        assert annotation["url_citation"]["title"] == "Harbour"
        assert chunks[-2].choices[0].finish_reason == "stop"
        assert chunks[-1].usage.total_tokens > 5
        assert {chunk.id for chunk in chunks} == {chunks[0].id}

    def test_asks_a_follow_up(self, client, endpoint):
        rewritten = json.dumps({"question": "When does the tide turn in the harbour?"})
        endpoint.scripts = [says(rewritten), *endpoint.scripts]
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": "Before dawn."},
            {"role": "user", "content": "And the tide?"},
        ]

        ask(client, messages=messages)

        first, answering = (each.body["messages"] for each in endpoint.requests)
        assert f"Question: {QUESTION}\nAnswer: Before dawn." in first[1]["content"]
        assert "The last question: And the tide?" in first[1]["content"]
        assert "When does the tide turn" in answering[1]["content"]

    def test_gets_a_quotation_if_the_language_model_fails(self, client, endpoint):
        endpoint.scripts = [fails(400)]

        text = ask(client).choices[0].message.content

        assert text.startswith("Boats leave the harbour before dawn. [1]\n\nSources:")
        assert "Note: The answer is quoted from the documents" in text

    def test_raises_an_error_of_the_stream(self, client, endpoint):
        endpoint.scripts = [streams("Boats", then=lambda handler: handler.send_event("no JSON"))]

        with pytest.raises(openai.APIError) as caught:
            list(ask(client, stream=True))

        assert caught.value.code == "language_model_unavailable"
        assert caught.value.type == "server_error"

    def test_raises_its_own_errors(self, service, client):
        with pytest.raises(openai.NotFoundError) as unknown:
            ask(client, model="nothing")
        with pytest.raises(openai.BadRequestError) as wrong:
            ask(client, temperature="hot")
        for stranger in make_client(service, "strata_nonsense"):
            with pytest.raises(openai.AuthenticationError) as refused:
                stranger.models.list()

        assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
        assert (wrong.value.param, wrong.value.type) == ("temperature", "invalid_request_error")
        assert refused.value.code == "invalid_api_key"

    def test_searches_a_vector_store(self, client):
        [found] = client.vector_stores.search("plain", query=QUESTION, max_num_results=3)

        assert found.content[0].text == TIDE
        assert found.filename == "Harbour"
        assert 0 < found.score <= 1
        assert [store.id for store in client.vector_stores.list() if store.id == "plain"]
        by_title = {"type": "eq", "key": "artifact_title", "value": "Works"}
        assert not list(client.vector_stores.search("plain", query=[QUESTION], filters=by_title))


class TestProgramsOfOthers:
    @pytest.mark.parametrize(
        "asked", REQUESTS, ids=lambda asked: f"{asked['program']}: {asked['of']}"
    )
    def test_get_what_they_expect(self, service, asked):
        content = json.dumps(asked["body"]) if "body" in asked else None
        answer = httpx.request(
            asked["method"],
            f"{service.url}/v1/{asked['path']}",
            headers={"Authorization": f"Bearer {KEY}", **asked["headers"]},
            content=content,
            timeout=60,
            trust_env=False,
        )

        assert answer.status_code == asked.get("status", 200), answer.text
        if answer.status_code == 400:  # neither 403 nor 404: the key and the address are right
            assert answer.json()["error_code"] == 400
        elif asked["path"] == "models":
            assert "plain" in [model["id"] for model in answer.json()["data"]]
        elif asked["path"] == "retrieval":
            [record] = answer.json()["records"]
            assert record.keys() == {"content", "score", "title", "metadata"}
            assert record["content"] == TIDE
        elif asked["path"].startswith("vector_stores/"):
            assert answer.json()["data"][0]["content"][0]["text"] == TIDE
        elif asked["body"].get("stream"):
            assert answer.headers["Content-Type"] == "text/event-stream"
            *events, last = answer.text.strip().split("\n\n")
            assert last == "data: [DONE]"
            chunks = [json.loads(each.removeprefix("data: ")) for each in events]
            text = "".join(
                choice["delta"].get("content", "") for each in chunks for choice in each["choices"]
            )
            assert "](http://127.0.0.1" in text
        else:
            assert answer.json()["choices"][0]["message"]["content"]
