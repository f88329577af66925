"""Chats without a language model, and what holds for all addresses below ``/v1``."""

import json

import pytest
from django.core.cache import cache
from django.test.utils import override_script_prefix

from access import usage_limits
from access.models import ApiKey
from audit.models import AuditRow
from tests.asking_mcp import answer_in_this_thread
from tests.clients import client_with_key
from tests.guests.asking import TIDE, chat, retrieve, search


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch):
    answer_in_this_thread(monkeypatch)


class TestAModel:
    def test_of_other_indexes_do_not_exist(self, client):
        narrow = client_with_key(indexes=["digest"])

        ids = {each["id"].partition(":")[0] for each in narrow.get("/v1/models").json()["data"]}
        errors = [narrow.get("/v1/models/minutes"), chat(narrow)]

        assert ids == {"digest"}
        for response in errors:
            assert response.status_code == 404
            error = response.json()["error"]
            assert error["code"] == "model_not_found"
            assert error["param"] == "model"
            assert error["message"].endswith("Allowed: digest.")

    @pytest.mark.parametrize("model", ["nothing", "minutes:nothing", "minutes:", ""])
    def test_that_do_not_exist_are_not_found(self, client, model):
        response = chat(client, model=model)

        assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")


class TestAChat:
    def test_quotes_the_documents(self, client, filled):
        answer = chat(client).json()

        [choice] = answer["choices"]
        message = choice["message"]
        assert answer["object"] == "chat.completion"
        assert choice["finish_reason"] == "stop"
        assert message["content"].startswith("Boats leave the harbour before dawn. [1]\n\nSources:")
        assert (
            f"[Harbour, page 1](http://testserver/documents/{filled.pk}/?source="
            in (message["content"])
        )
        [annotation] = message["annotations"]
        cited = annotation["url_citation"]
        assert annotation["type"] == "url_citation"
        assert cited["title"] == "Harbour"
        assert cited["url"] in message["content"]
        assert message["content"][cited["start_index"] : cited["end_index"]] == (
            "Boats leave the harbour before dawn."
        )
        start, end = TIDE.index("Boats"), len(TIDE)
        assert cited["url"].endswith(f"&start={start}&end={end}")
        assert answer["usage"]["total_tokens"] > 10

    @override_script_prefix("/strata/")
    def test_links_to_pages_below_the_path_of_the_service(self, client):
        [annotation] = chat(client).json()["choices"][0]["message"]["annotations"]

        assert annotation["url_citation"]["url"].startswith("http://testserver/strata/documents/")

    def test_says_that_earlier_questions_need_a_language_model(self, client):
        messages = [
            {"role": "user", "content": "When do boats leave?"},
            {"role": "assistant", "content": "Before dawn."},
            {"role": "user", "content": "When do boats leave the harbour?"},
        ]

        text = chat(client, messages=messages).json()["choices"][0]["message"]["content"]

        assert "\n\nNote: The question was taken by itself, without the earlier ones" in text

    @pytest.mark.parametrize(
        ("given", "param"),
        [
            ({"messages": []}, "messages"),
            ({"messages": [{"role": "user", "content": " "}]}, "messages"),
            ({"messages": [{"role": "user", "content": "x" * 10_001}]}, "messages"),
            ({"temperature": "hot"}, "temperature"),
            ({"model": None}, "model"),
        ],
    )
    def test_with_a_wrong_parameter_names_it(self, client, given, param):
        response = chat(client, **given)

        error = response.json()["error"]
        assert (response.status_code, error["type"], error["param"]) == (
            400, "invalid_request_error", param,
        )  # fmt: skip

    def test_may_be_long(self, client):
        earlier = [{"role": "user", "content": "x" * 9_000}] * 12
        asked = {"role": "user", "content": "When do boats leave the harbour?"}

        assert chat(client, messages=[*earlier, asked]).status_code == 200

    def test_counts_as_a_stream_of_the_key(self, client, settings):
        cache.clear()
        _, secret = ApiKey.issue("a reader")
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        settings.STRATA_KEY_STREAMS = 1
        slot = usage_limits.take_stream("key a reader")

        refused = chat(client)

        assert refused.status_code == 429
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert int(refused.headers["Retry-After"]) > 0
        slot.free()
        assert chat(client).status_code == 200
        assert chat(client).status_code == 200  # the first has freed the slot


class TestAuditedReads:
    def test_name_the_index(self, client, settings):
        settings.STRATA_AUDIT_LOG_READS = True
        AuditRow.objects.all().delete()
        for send in (search, retrieve, chat):
            assert send(client).status_code == 200

        assert (
            list(AuditRow.objects.order_by("id").values_list("index", "status"))
            == [("minutes", 200)] * 3
        )


UNUSUAL = [
    [], "text", 3, None, {}, {"query": None}, {"query": 3}, {"query": ""}, {"query": "\ud800"},
    {"query": "a\x00b"}, {"query": ["a"] * 11}, {"query": "tide", "filters": {"type": {}}},
    {"query": "tide", "max_num_results": True}, {"query": "tide", "max_num_results": 1e300},
    {"knowledge_id": "\ud800", "query": "tide", "retrieval_setting": {}},
    {"knowledge_id": "minutes", "query": "\ud800", "retrieval_setting": {}},
    {"knowledge_id": "minutes", "query": "tide", "retrieval_setting": {"top_k": 10**30}},
    {"knowledge_id": "minutes", "query": "tide", "retrieval_setting": {}, "metadata_condition": []},
    {"model": "\ud800", "messages": [{"role": "user", "content": "tide"}]},
    {"model": "minutes", "messages": [{"role": "user", "content": "\ud800"}]},
    {"model": "minutes", "messages": [{"role": "user", "content": [{"type": "text"}]}]},
    {"model": "minutes", "messages": [{"role": "user"}, {"role": "user", "content": ""}]},
    {"model": "x" * 5_000, "messages": [{"role": "user", "content": "tide"}]},
]  # fmt: skip


@pytest.mark.parametrize("path", ["vector_stores/minutes/search", "retrieval", "chat/completions"])
def test_unusual_bodies_are_answered(client, path):
    refused = 0
    for body in UNUSUAL:
        response = client.post(f"/v1/{path}", json.dumps(body), content_type="application/json")

        assert response.status_code < 500, (body, response.content)
        if response.status_code >= 400:
            refused += 1
            assert len(response.content) < 2_000
            assert response.json().keys() in ({"error"}, {"error_code", "error_msg"})
    assert refused > len(UNUSUAL) / 2
