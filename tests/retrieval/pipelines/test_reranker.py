import sys
import threading
import time

import pytest

from core.exceptions import InvalidInput
from indexing.exceptions import ModelUnavailable
from retrieval import cross_encoders
from retrieval.pipelines.reranker import Reranker
from tests.indexing.small_cross_encoder import write_cross_encoder
from tests.retrieval.pipelines.making import make_passage, names

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

    def test_stores_its_step_in_each_passage(self, model):
        first = rerank(model=model)["passages"][0]

        assert first.steps[-1].component == "reranker"
        assert first.steps[-1].details == {"by": model, "rank_before": 4, "rank": 1, "score": 2}

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
        monkeypatch.setattr(cross_encoders, "_load_encoder", None)

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
