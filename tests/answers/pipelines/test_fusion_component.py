import copy

import pytest

from answers.pipelines.fusion_component import Fusion
from core.exceptions import InvalidInput
from tests.answers.pipelines.making import make_passage, make_ranking, names, node_id


def fuse(*rankings, limit=10, **given):
    return Fusion(**given).run(rankings=list(rankings), limit=limit)["passages"]


class TestFusion:
    def test_scores_by_similarity_and_rank(self):
        fused = fuse(
            make_ranking("q", make_passage("a", similarity=0.9), make_passage("b", similarity=0.8)),
            make_ranking("r", make_passage("b", similarity=0.6), make_passage("c", similarity=0.5)),
            w=0.4,
        )

        assert names(fused) == ["b", "a", "c"]
        assert [each.score for each in fused] == pytest.approx(
            [
                0.4 * 0.7 + 0.6,
                0.4 * 0.9 + 0.6 * (1 / 61) / (1 / 61 + 1 / 62),
                0.4 * 0.5 + 0.6 * (1 / 62) / (1 / 61 + 1 / 62),
            ]
        )
        assert {each.score_kind for each in fused} == {"similarity_and_rank"}

    def test_can_score_by_rank_only(self):
        fused = fuse(
            make_ranking("q", make_passage("a"), make_passage("b")),
            make_ranking("r", make_passage("b")),
            method="reciprocal_rank",
            rrf_k=10,
        )

        assert names(fused) == ["b", "a"]
        assert [each.score for each in fused] == pytest.approx([1 / 12 + 1 / 11, 1 / 11])
        assert {each.score_kind for each in fused} == {"rrf"}

    def test_keeps_the_order_of_a_single_ranking_by_rank(self):
        ranking = make_ranking("q", *(make_passage(name) for name in "cab"))

        assert names(fuse(ranking, method="reciprocal_rank")) == ["c", "a", "b"]

    def test_ranks_artifacts_by_the_best_passage_each_query_found(self):
        fused = fuse(
            make_ranking(
                "q",
                make_passage("a", artifact="X"),
                make_passage("b", artifact="X"),
                make_passage("c", artifact="Y"),
            ),
            make_ranking("r", make_passage("c", artifact="Y"), make_passage("b", artifact="X")),
            method="reciprocal_rank",
            unique="artifact",
        )

        assert names(fused) == ["a", "c"]  # Y is second, not third, for q
        assert fused[0].score == fused[1].score == pytest.approx(1 / 61 + 1 / 62)

    def test_treats_questions_of_one_chunk_as_one_passage(self):
        asked = {"kind": "question", "chunk_id": "7"}

        fused = fuse(
            make_ranking("q", make_passage("a", **asked)),
            make_ranking("r", make_passage("b", **asked)),
        )

        assert names(fused) == ["a"]

    def test_returns_a_multiple_of_the_limit(self):
        ranking = make_ranking("q", *(make_passage(name) for name in "abcdefgh"))

        assert len(fuse(ranking, limit=2, multiplier=3)) == 6

    def test_stores_every_query_that_found_a_passage(self):
        [fused] = fuse(make_ranking("q", make_passage("a")), make_ranking("r", make_passage("a")))

        *found, fusion = fused.steps
        assert [step["component"] for step in found] == ["multi_query_retriever"] * 2
        assert fusion["ranks"] == {"q": 1, "r": 1}
        assert sum(fusion["contributions"].values()) == pytest.approx(fused.score)

    def test_returns_nothing_for_an_empty_ranking(self):
        assert fuse(make_ranking("q")) == []

    @pytest.mark.parametrize("given", [{"w": 2}, {"rrf_k": 0}, {"multiplier": 0}])
    def test_refuses_parameters_out_of_range(self, given):
        with pytest.raises(InvalidInput) as caught:
            Fusion(**given)

        assert [caught.value.field] == list(given)


class TestPassage:
    def test_is_not_copied_by_deepcopy(self):
        passage = make_passage("a")
        ranking = make_ranking("q", passage)

        assert copy.deepcopy(passage) is passage
        assert copy.deepcopy(ranking) is ranking
        assert passage.id == str(node_id("a"))
