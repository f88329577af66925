"""Models, vector stores and knowledge, below ``/v1``."""

import json

import pytest

from tests.clients import client_with_key
from tests.guests.asking import BRIDGE, TIDE, retrieve, search


class TestModels:
    def test_are_the_indexes_of_the_key_by_each_pipeline(self, client):
        listed = client.get("/v1/models").json()

        assert listed["object"] == "list"
        ids = [each["id"] for each in listed["data"]]
        assert ids[:3] == ["digest", "digest:knowledge", "digest:papers"]
        assert {"minutes", "minutes:plain", "minutes:papers"} <= set(ids)
        assert {each["object"] for each in listed["data"]} == {"model"}

    def test_can_be_read_alone(self, client):
        assert client.get("/v1/models/minutes:papers").json()["id"] == "minutes:papers"


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
        missing = narrow.get("/v1/vector_stores/digest")
        assert missing.status_code == 404
        assert missing.json()["error"]["param"] == "vector_store_id"

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

    def test_refuses_a_value_of_lists_in_lists(self, client):
        deep = f"{'[' * 700}1{']' * 700}"
        body = f"""{{"knowledge_id": "minutes", "query": "Boats", "retrieval_setting": {{}},
            "metadata_condition": {{"conditions": [
                {{"name": "year", "comparison_operator": "in", "value": {deep}}}]}}}}"""

        response = client.post("/v1/retrieval", body, content_type="application/json")

        assert response.status_code == 400
        assert "a whole number, not a list" in response.json()["error_msg"]
