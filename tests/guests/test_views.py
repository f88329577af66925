"""The addresses below ``/v1`` without a language model: models, vector stores and knowledge."""

import json

import pytest
from django.core.cache import cache
from django.test.utils import override_script_prefix

from access import usage_limits
from access.models import ApiKey
from audit.models import AuditRow
from indexing import tasks
from tests.asking_mcp import answer_in_this_thread
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.written import make_build, write_all

TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
BRIDGE = "The bridge is painted every spring."
FIELDS = {"year": {"type": "integer"}, "topics": {"type": "keyword", "many": True}}


@pytest.fixture(scope="module")
def filled(shared_store):
    build = make_build("minutes", metadata=FIELDS)
    tide = give(TIDE, index="minutes", title="Harbour",
                metadata={"year": 2019, "topics": ["boats", "tide"]})  # fmt: skip
    bridge = give(BRIDGE, index="minutes", title="Works", metadata={"year": 2021}, groups=["works"])
    sync(build, tide, bridge)
    digest = make_build("digest", chunks={"embed": False}, questions={"count": 2})
    write_all(digest, give(BRIDGE, index="digest", title="Works"))
    return tide


@pytest.fixture
def client(filled, db, monkeypatch):
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    answer_in_this_thread(monkeypatch)
    return client_with_key()


def search(client, query="Boats leave before dawn", index="minutes", **given):
    return client.post(
        f"/v1/vector_stores/{index}/search", {"query": query, **given}, format="json"
    )


def retrieve(client, **given):
    body = {
        "knowledge_id": "minutes",
        "query": "Boats leave before dawn",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        **given,
    }
    return client.post("/v1/retrieval", body, format="json")


def chat(client, content="When do boats leave the harbour?", **given):
    messages = [{"role": "user", "content": content}]
    body = {"model": "minutes", "messages": messages, **given}
    return client.post("/v1/chat/completions", body, format="json")


class TestModels:
    def test_are_the_indexes_of_the_key_by_each_pipeline(self, client):
        listed = client.get("/v1/models").json()

        assert listed["object"] == "list"
        ids = [each["id"] for each in listed["data"]]
        assert ids[:3] == ["digest", "digest:knowledge", "digest:papers"]
        assert {"minutes", "minutes:plain", "minutes:papers"} <= set(ids)
        assert {each["object"] for each in listed["data"]} == {"model"}

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

    def test_can_be_read_alone(self, client):
        assert client.get("/v1/models/minutes:papers").json()["id"] == "minutes:papers"

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


class TestVectorStores:
    def test_are_the_indexes_of_the_key(self, client):
        narrow = client_with_key(indexes=["minutes"])

        listed = narrow.get("/v1/vector_stores").json()

        [store] = listed["data"]
        assert (store["id"], store["object"], store["status"]) == (
            "minutes", "vector_store", "completed",
        )  # fmt: skip
        assert store["file_counts"]["total"] == store["file_counts"]["completed"] == 2
        assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (
            "minutes", "minutes", False,
        )  # fmt: skip
        assert narrow.get("/v1/vector_stores/minutes").json() == store
        assert narrow.get("/v1/vector_stores/digest").status_code == 404

    def test_without_an_index_are_none(self, client):
        none = client_with_key(indexes=["other"]).get("/v1/vector_stores").json()

        assert (none["data"], none["first_id"]) == ([], None)

    def test_are_searched(self, client, filled):
        answer = search(client).json()

        assert answer["object"] == "vector_store.search_results.page"
        assert answer["search_query"] == ["Boats leave before dawn"]
        assert (answer["has_more"], answer["next_page"]) == (False, None)
        first = answer["data"][0]
        assert first["file_id"] == str(filled.pk)
        assert first["filename"] == "Harbour"
        assert first["content"] == [{"type": "text", "text": TIDE}]
        assert first["attributes"] == {"year": 2019, "topics": "boats, tide"}
        assert 0 < first["score"] <= 1
        assert first["verdict"] == "exact"
        assert f"/documents/{filled.pk}/?source=" in first["url"]

    def test_of_questions_alone_are_searched_by_them(self, client):
        [found] = search(client, "The bridge is painted", index="digest").json()["data"]

        assert (found["filename"], found["content"][0]["text"]) == ("Works", BRIDGE)
        assert "/?source=" in found["url"]

    def test_are_searched_by_several_queries(self, client):
        answer = search(client, ["Boats leave", "The bridge is painted"], max_num_results=2).json()

        assert answer["search_query"] == ["Boats leave", "The bridge is painted"]
        assert len({each["file_id"] for each in answer["data"]}) == 2

    def test_are_filtered(self, client):
        only = search(client, filters={"type": "gt", "key": "year", "value": 2020}).json()["data"]

        assert [each["attributes"]["year"] for each in only] == [2021]

    def test_leave_out_what_is_below_the_threshold(self, client):
        found = search(client).json()["data"]
        least = min(each["score"] for each in found)

        kept = search(client, ranking_options={"score_threshold": least + 0.001}).json()["data"]

        assert 0 < len(kept) < len(found)

    def test_leave_out_what_has_changed_since(self, client, filled):
        assert search(client).json()["data"][0]["file_id"] == str(filled.pk)
        for source in filled.sources.all():
            source.text = f"{source.text} No longer."
            source.save()

        answers = [search(client).json()["data"], retrieve(client).json()["records"]]

        assert all(answers)
        assert str(filled.pk) not in json.dumps(answers)

    def test_say_that_a_query_is_not_rewritten(self, client):
        assert "rewrite_query was ignored" in search(client, rewrite_query=True).json()["notes"][0]
        assert "notes" not in search(client, rewrite_query=False).json()

    @pytest.mark.parametrize(
        ("given", "param"),
        [
            ({"query": []}, "query"),
            ({"max_num_results": 51}, "max_num_results"),
            ({"max_num_results": 0}, "max_num_results"),
            ({"ranking_options": {"score_threshold": 2}}, "ranking_options.score_threshold"),
            ({"filters": {"type": "like"}}, "filters.type"),
            ({"filters": {"type": "eq", "key": "colour", "value": 1}}, "filters.colour"),
        ],
    )
    def test_refuse_a_wrong_parameter(self, client, given, param):
        response = search(client, **given)

        assert response.status_code == 400
        assert response.json()["error"]["param"] == param

    def test_show_only_the_documents_of_the_key(self, client):
        narrow = client_with_key(groups=["harbour"])

        assert {each["filename"] for each in search(narrow).json()["data"]} == {"Harbour"}

    def test_of_another_index_do_not_exist(self, client):
        narrow = client_with_key(indexes=["digest"])

        hidden, missing = search(narrow), search(narrow, index="nothing")

        assert hidden.status_code == missing.status_code == 404
        assert hidden.json()["error"]["code"] == "unknown_index"
        assert hidden.content.replace(b"minutes", b"nothing") == missing.content


class TestKnowledge:
    def test_is_the_passages_of_an_index(self, client, filled):
        answer = retrieve(client).json()

        first = answer["records"][0]
        assert answer.keys() == {"records"}
        assert (first["title"], first["content"]) == ("Harbour", TIDE)
        assert 0 < first["score"] <= 1
        assert first["metadata"].items() >= {
            "year": 2019, "page": 1, "verdict": "exact",
            "document_id": str(filled.pk),
        }.items()  # fmt: skip

    def test_is_limited_and_filtered(self, client):
        condition = {"name": ["year"], "comparison_operator": ">", "value": "2020"}
        setting = {"top_k": 1, "score_threshold": 0.0}

        one = retrieve(client, retrieval_setting=setting).json()["records"]
        later = retrieve(client, metadata_condition={"conditions": [condition]}).json()["records"]
        none = retrieve(client, retrieval_setting={"top_k": 5, "score_threshold": 1.0}).json()

        assert len(one) == 1
        assert [each["metadata"]["year"] for each in later] == [2021]
        assert none == {"records": []}

    @pytest.mark.parametrize(
        ("header", "code"),
        [(None, 1001), ("Basic abc", 1001), ("Bearer strata_nonsense", 1002)],
    )
    def test_is_refused_without_a_valid_key(self, client, header, code):
        client.credentials(**({"HTTP_AUTHORIZATION": header} if header else {}))

        response = retrieve(client)

        assert (response.status_code, response.json()["error_code"]) == (403, code)
        assert response.json()["error_msg"]

    def test_that_does_not_exist_is_not_found(self, client):
        response = retrieve(client, knowledge_id="nothing")

        assert (response.status_code, response.json()["error_code"]) == (404, 2001)
        assert "no index named 'nothing'" in response.json()["error_msg"]

    def test_names_a_wrong_value(self, client):
        response = retrieve(client, retrieval_setting={"top_k": 0})

        assert (response.status_code, response.json()["error_code"]) == (400, 400)
        assert response.json()["error_msg"].startswith("retrieval_setting.top_k: ")


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
