"""Searches with a vector in place of the query's, and vectors to search with."""

import json

import numpy as np
import pytest

from access.grants import EVERYTHING
from concepts.retrievers import SourceRetriever
from concepts.services import create_concept, create_relationship_type
from core.exceptions import InvalidInput
from retrieval.retrievers import ChunkRetriever
from retrieval.text_vectors import MAX_TEXT_CHARS, MAX_TEXTS, embed_texts
from tests.clients import client_with_key
from tests.factories import give, load_index, sync
from tests.hashing import HashingEmbedder
from tests.written import make_build, question, summarise

pytestmark = pytest.mark.django_db

HERON = "herons wait for fish"
GRANITE = "granite cools slowly"
VECTOR = [1.0] * 384
PASSAGE_SEARCHES = ("pages", "summaries", "questions", "hierarchical", "recursive")
KNOWLEDGE_SEARCHES = ("concepts", "relationships", "sources", "route", "blend", "subgraph")
INDEX_OF_SEARCH = dict.fromkeys(PASSAGE_SEARCHES, "full") | dict.fromkeys(
    KNOWLEDGE_SEARCHES, "knowledge"
)


@pytest.fixture(scope="module")
def indexed(shared_store):
    build = make_build("full", page_summaries=True, questions={"count": 1})
    artifacts = [
        give(f"{text.capitalize()} in the reeds.", index="full", title=title)
        for title, text in (("Birds", HERON), ("Stones", GRANITE))
    ]
    for artifact in artifacts:
        summarise(build, artifact)
        question(build, artifact, count=1)
    sync(build, *artifacts)
    knowledge = load_index("knowledge")
    birds = give("Herons wait for fish in the reeds.", index="knowledge", title="Birds")
    create_concept("knowledge", "Heron", description="A wading bird")
    create_relationship_type("knowledge", "WAITS_FOR", description="Waits for fish")
    sync(knowledge, birds)


@pytest.fixture
def client(indexed):
    return client_with_key()


def embed(text: str) -> list[float]:
    model = HashingEmbedder(load_index("plain").spec.embedding)
    return [float(number) for number in model.embed_query(text)]


def search(client, name, expected=200, **given):
    parameters = {"index": INDEX_OF_SEARCH[name], **given}
    response = client.post(f"/api/v1/search/{name}", parameters, format="json")
    assert response.status_code == expected, response.json()
    return response.json()


def read(answer):
    """The answer without its times, with numbers of four digits."""
    if isinstance(answer, dict):
        return {name: read(value) for name, value in answer.items() if name != "took_ms"}
    if isinstance(answer, list):
        return [read(each) for each in answer]
    return round(answer, 4) if isinstance(answer, float) else answer


class TestSearch:
    @pytest.mark.parametrize("name", INDEX_OF_SEARCH)
    def test_by_a_vector_alone_finds_what_its_text_finds_by_meaning(self, client, name):
        has_mode = name in {*PASSAGE_SEARCHES, "sources", "route"}
        mode = {"mode": "dense"} if has_mode else {}

        by_text = search(client, name, query=HERON, **mode)
        by_vector = search(client, name, vector=embed(HERON))

        assert json.dumps(by_text).count("score") > 1
        assert by_vector.pop("relevant", None) is None  # there are no words to compare
        by_text.pop("relevant", None)
        assert read(by_vector) == read(by_text)

    def test_by_a_vector_and_words_ranks_by_both(self, client):
        answer = search(client, "pages", query=GRANITE, vector=embed(HERON), explain=True)

        titles = {hit["artifact"]["title"]: hit["explain"] for hit in answer["hits"]}
        assert {hit["score_kind"] for hit in answer["hits"]} == {"rrf"}
        assert titles["Birds"]["dense"]["rank"] == 1
        assert titles["Stones"]["sparse"]["rank"] == 1

    def test_by_a_vector_embeds_nothing(self, client, monkeypatch):
        def refuse(*given):
            raise AssertionError("it embedded something")

        monkeypatch.setattr(HashingEmbedder, "embed_query", refuse)
        monkeypatch.setattr(HashingEmbedder, "embed_queries", refuse)

        for name in INDEX_OF_SEARCH:
            search(client, name, vector=VECTOR)

    def test_finds_the_same_whatever_the_length_of_the_vector(self, client):
        long = [number * 1e30 for number in embed(HERON)]

        first, second = (
            search(client, "pages", vector=vector)["hits"] for vector in (embed(HERON), long)
        )

        assert [hit["node_id"] for hit in first] == [hit["node_id"] for hit in second]
        assert first[0]["score"] == pytest.approx(second[0]["score"], abs=1e-5)

    def test_takes_a_vector_in_a_query_string(self, client):
        vector = ",".join(f"{number:.4f}" for number in embed(HERON))

        response = client.get("/api/v1/search/pages", {"index": "full", "vector": vector})

        assert response.status_code == 200
        assert {hit["score_kind"] for hit in response.json()["hits"]} == {"cosine"}

    @pytest.mark.parametrize(
        ("vector", "detail"),
        [
            ([0.1, 0.2], "The vector has 2 numbers; those of all-MiniLM-L6-v2"),
            ([0.0] * 384, "must not all be 0"),
            ([0.1] * 383 + [1e400], "finite"),
            ([0.1] * 383 + [None], "finite"),
            ([0.1] * 383 + [True], "finite"),
            ([0.1] * 383 + ["0.1"], "finite"),
            ([[0.1] * 384], "finite"),
            ("0.1,nan", "finite"),
            ("heron", "finite"),
            ({"0": 0.1}, "finite"),
            ([], "finite"),
            ([0.1] * 65_537, "65,536"),
        ],
    )
    @pytest.mark.parametrize("name", ["pages", "concepts"])
    def test_refuses_what_is_not_a_vector_of_its_model(self, client, name, vector, detail):
        body = json.dumps({"index": INDEX_OF_SEARCH[name], "vector": vector})
        body = body.replace("Infinity", "1e400")

        response = client.post(f"/api/v1/search/{name}", body, content_type="application/json")

        assert response.status_code == 400
        if "1e400" not in body:  # no JSON number, which the whole body is refused for
            assert response.json()["field"] == "vector"
            assert detail in response.json()["detail"]

    def test_refuses_a_vector_in_a_search_by_words(self, client):
        for given in ({"query": HERON}, {}):
            error = search(client, "pages", 400, vector=embed(HERON), mode="sparse", **given)

            assert error["field"] == "vector"

    def test_refuses_neither_a_query_nor_a_vector(self, client):
        error = search(client, "pages", 400)

        assert error["field"] == "query"
        assert error["detail"] == "Give a query or a vector."

    def test_of_sources_by_a_vector_alone_is_by_meaning(self, indexed):
        found = SourceRetriever("knowledge", vector=embed(HERON)).search("").found

        assert found[0].score_kind == "cosine"

    def test_refuses_an_empty_query_without_a_vector(self, indexed):
        with pytest.raises(InvalidInput, match="empty"):
            ChunkRetriever("full").search("")


class TestEmbedTexts:
    def test_embeds_queries_as_searches_do(self, client):
        response = client.post("/api/v1/indexes/full/embed", {"input": HERON}, format="json")

        answer = response.json()
        assert response.status_code == 200
        assert (answer["index"], answer["model"]) == ("full", "all-MiniLM-L6-v2")
        assert (answer["dimension"], answer["input_type"]) == (384, "query")
        assert answer["truncated"] == []
        by_vector = search(client, "pages", vector=answer["vectors"][0])
        by_text = search(client, "pages", query=HERON, mode="dense")
        assert read(by_vector["hits"]) == read(by_text["hits"])

    def test_embeds_passages_as_documents(self, indexed, monkeypatch):
        seen = []
        monkeypatch.setattr(
            HashingEmbedder,
            "embed_documents",
            lambda model, texts: seen.append(list(texts)) or np.ones((len(texts), 384), np.float32),
        )

        found = embed_texts("full", [HERON, GRANITE], input_type="passage", grant=EVERYTHING)

        assert seen == [[HERON, GRANITE]]
        assert found.vectors.shape == (2, 384)

    def test_says_which_texts_are_longer_than_the_model_reads(self, client):
        long = "heron " * 300

        answer = client.post(
            "/api/v1/indexes/full/embed", {"input": [HERON, long]}, format="json"
        ).json()

        assert answer["truncated"] == [1]

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({}, "input"),
            ({"input": []}, "input"),
            ({"input": " "}, "input"),
            ({"input": ["heron", ""]}, "input.1"),
            ({"input": ["heron", 1]}, "input"),
            ({"input": "\ud800"}, "input"),
            ({"input": {"text": "heron"}}, "input"),
            ({"input": ["heron"] * (MAX_TEXTS + 1)}, "input"),
            ({"input": "x" * (MAX_TEXT_CHARS + 1)}, "input"),
            ({"input": ["x" * MAX_TEXT_CHARS] * 11}, "input"),
            ({"input": HERON, "input_type": "document"}, "input_type"),
            ({"input": HERON, "model": "other"}, "model"),
        ],
    )
    def test_refuses_a_wrong_input(self, client, given, field):
        response = client.post(
            "/api/v1/indexes/full/embed", json.dumps(given), content_type="application/json"
        )

        assert response.status_code == 400
        assert response.json()["field"] == field

    def test_refuses_an_unknown_index_and_one_that_the_key_does_not_see(self, indexed):
        others = client_with_key(indexes=["papers"])
        for client, name in ((client_with_key(), "nowhere"), (others, "full")):
            response = client.post(f"/api/v1/indexes/{name}/embed", {"input": HERON}, format="json")

            assert response.status_code == 404
