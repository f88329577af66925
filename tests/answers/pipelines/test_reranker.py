import json
import sys
import threading
import time

import pytest
from django.core.cache import cache

from answers import cross_encoders
from answers.pipelines.reranker import Reranker
from core.exceptions import InvalidInput
from indexing.exceptions import ModelUnavailable
from tests.answers.pipelines.making import make_passage, names
from tests.indexing.small_cross_encoder import write_cross_encoder
from tests.language_models.test_llm import endpoint, fails, hangs
from tests.otlp import finished

__all__ = ["endpoint", "finished"]  # fixtures

PASSAGES = [
    make_passage(letter, text=text)
    for letter, text in zip("abcd", ["granite", "heron", "fish", "heron fish"], strict=True)
]


def rerank(passages=PASSAGES, query="heron fish", **given):
    return Reranker(**given).run(query=query, passages=passages)


@pytest.fixture
def model(tmp_path):
    return str(write_cross_encoder(tmp_path / "tiny"))


class TestReranker:
    def test_does_nothing_without_a_model(self):
        assert rerank() == {"passages": PASSAGES, "notes": []}

    def test_orders_by_the_scores_of_the_cross_encoder(self, model):
        answer = rerank(model=model)

        assert names(answer["passages"]) == ["heron fish", "heron", "fish", "granite"]
        assert [each.score for each in answer["passages"]] == [2, 1, 1, 0]
        assert {each.score_kind for each in answer["passages"]} == {"cross_encoder"}
        assert answer["notes"] == []

    def test_makes_a_span_with_ids_and_scores_and_no_text(self, model, finished):
        best = rerank(model=model)["passages"][0]

        [reranked] = finished
        assert reranked.attributes["openinference.span.kind"] == "RERANKER"
        assert reranked.attributes["reranker.model_name"] == model
        assert reranked.attributes["reranker.output_documents.0.document.id"] == best.id
        assert reranked.attributes["reranker.output_documents.0.document.score"] == 2
        assert "heron" not in reranked.to_json()

    def test_stores_its_step_in_each_passage(self, model):
        first = rerank(model=model)["passages"][0]

        step = {"component": "reranker", "by": model, "rank_before": 4, "rank": 1, "score": 2}
        assert first.steps[-1] == step

    def test_keeps_the_order_of_passages_after_the_candidates(self, model):
        assert names(rerank(model=model, candidates=2)["passages"]) == [
            "heron", "granite", "fish", "heron fish"
        ]  # fmt: skip

    def test_reads_the_title_as_well(self, model):
        titled = [make_passage("a", text="granite"), make_passage("b", text="granite")]
        titled[1].hit.payload["artifact_title"] = "heron"

        assert [each.id for each in rerank(titled, model=model)["passages"]] == [
            titled[1].id, titled[0].id
        ]  # fmt: skip

    def test_is_skipped_with_a_note_after_its_time_budget(self, model, monkeypatch):
        encoder = cross_encoders.get_cross_encoder_loader(model).get()
        is_stopped = threading.Event()

        def dawdle(query, texts, *, should_stop):
            while not should_stop():
                time.sleep(0.005)
            is_stopped.set()
            raise cross_encoders.ScoringStopped

        monkeypatch.setattr(encoder, "score", dawdle)

        answer = rerank(model=model, budget_ms=50)

        assert answer["passages"] == PASSAGES
        assert answer["notes"] == ["Reranking took longer than 50 ms and was skipped."]
        assert is_stopped.wait(30)

    def test_loads_its_model_in_warm_up(self, model, monkeypatch):
        reranker = Reranker(model=model)
        reranker.warm_up()
        monkeypatch.setattr(cross_encoders, "_load_model", None)

        assert reranker.run(query="heron", passages=PASSAGES)["notes"] == []

    def test_names_the_unavailable_model(self):
        with pytest.raises(ModelUnavailable, match="acme"):
            rerank(model="acme/unheard-of")

    def test_returns_the_passages_of_a_postprocessor(self):
        passages = [make_passage("a", score=0.2), make_passage("b", score=0.9)]

        answer = rerank(
            passages,
            postprocessor="SimilarityPostprocessor",
            options={"similarity_cutoff": 0.5},
        )

        assert names(answer["passages"]) == ["b"]

    def test_uses_the_order_of_a_postprocessor(self):
        answer = rerank(postprocessor="LongContextReorder")

        assert sorted(names(answer["passages"])) == sorted(names(PASSAGES))
        assert names(answer["passages"]) != names(PASSAGES)

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"postprocessor": "LLMRerank"}, "postprocessor"),
            ({"postprocessor": "subprocess.Popen"}, "postprocessor"),
            ({"model": "a", "postprocessor": "LongContextReorder"}, "postprocessor"),
            ({"options": {"top_n": 3}}, "options"),
            (
                {
                    "postprocessor": "SentenceTransformerRerank",
                    "options": {"trust_remote_code": True},
                },
                "options",
            ),
            ({"budget_ms": 0}, "budget_ms"),
            ({"candidates": 0}, "candidates"),
        ],
    )
    def test_refuses_parameters_that_are_not_allowed(self, given, field):
        with pytest.raises(InvalidInput) as caught:
            Reranker(**given)

        assert caught.value.field == field

    def test_names_the_missing_library_of_a_postprocessor(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)

        with pytest.raises(ModelUnavailable, match="SentenceTransformerRerank"):
            rerank(postprocessor="SentenceTransformerRerank", options={"model": "x"})


def scores(*rows: dict[str, float], in_list: bool = False):
    """A script of the endpoint."""
    return lambda handler: handler.send(200, json.dumps(rows if in_list else {"results": rows}))


class TestAnEndpoint:
    @pytest.fixture(autouse=True)
    def _forget(self):
        cache.clear()

    def test_is_asked_for_the_scores(self, endpoint, monkeypatch):
        monkeypatch.setenv("RERANK_KEY", "secret")
        endpoint.scripts = [
            scores(
                *({"index": n, "relevance_score": s} for n, s in ((3, 9), (1, 8), (0, 1), (2, 2)))
            )
        ]

        answer = rerank(model="rerank-1", endpoint=endpoint.url, api_key_variable="RERANK_KEY")

        assert names(answer["passages"]) == ["heron fish", "heron", "fish", "granite"]
        assert {each.score_kind for each in answer["passages"]} == {"cross_encoder"}
        [request] = endpoint.requests
        assert request.body == {
            "model": "rerank-1",
            "query": "heron fish",
            "documents": ["granite", "heron", "fish", "heron fish"],
        }
        assert request.headers["Authorization"] == "Bearer secret"

    def test_may_answer_as_text_embeddings_inference_does(self, endpoint):
        endpoint.scripts = [scores(*({"index": n, "score": -n} for n in range(4)), in_list=True)]

        answer = rerank(endpoint=endpoint.url, texts_field="texts")

        assert names(answer["passages"]) == ["granite", "heron", "fish", "heron fish"]
        assert set(endpoint.requests[0].body) == {"query", "texts"}

    def test_is_asked_once_for_the_same_texts(self, endpoint):
        endpoint.scripts = [scores(*({"index": n, "score": n} for n in range(4)))]
        reranker = Reranker(endpoint=endpoint.url)

        first = reranker.run(query="heron", passages=PASSAGES)
        second = reranker.run(query="heron", passages=PASSAGES[:2])

        assert len(endpoint.requests) == 1
        assert names(first["passages"])[0] == "heron fish"
        assert names(second["passages"]) == ["heron", "granite"]

    @pytest.mark.parametrize(
        ("script", "said"),
        [
            (fails(500), "answered 500"),
            (fails(401), "answered 401"),
            (scores({"index": 0, "score": 1}), "malformed"),
            (lambda handler: handler.send(200, "no JSON"), "malformed"),
            (hangs, "longer than 200 ms"),
        ],
    )
    def test_is_skipped_with_a_note_if_it_fails(self, endpoint, script, said):
        endpoint.scripts = [script]

        answer = rerank(endpoint=endpoint.url, budget_ms=200)

        assert answer["passages"] == PASSAGES
        [note] = answer["notes"]
        assert said in note or "did not answer" in note

    def test_is_not_asked_again_soon_after_a_failure(self, endpoint):
        endpoint.scripts = [fails(500)]
        reranker = Reranker(endpoint=endpoint.url)

        notes = [reranker.run(query="heron", passages=PASSAGES)["notes"] for _ in range(3)]

        assert len(endpoint.requests) == 1
        assert notes[0] == notes[2] != []

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"endpoint": "ftp://models.example"}, "endpoint"),
            (
                {"endpoint": "http://a.example", "postprocessor": "LongContextReorder"},
                "postprocessor",
            ),
            ({"endpoint": "http://a.example", "window": 256}, "window"),
            ({"model": "a", "api_key_variable": "KEY"}, "api_key_variable"),
            ({"texts_field": "texts"}, "texts_field"),
        ],
    )
    def test_refuses_wrong_parameters(self, given, field):
        with pytest.raises(InvalidInput) as caught:
            Reranker(**given)

        assert caught.value.field == field

    def test_names_the_variable_of_a_missing_key(self):
        with pytest.raises(ModelUnavailable, match="RERANK_UNSET") as caught:
            Reranker(endpoint="http://models.example", api_key_variable="RERANK_UNSET")

        assert caught.value.field == "api_key_variable"
