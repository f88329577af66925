"""How pages and documents are ranked by their passages."""

from uuid import UUID

import pytest

from access.grants import EVERYTHING
from indexing.spec import IndexSpec
from indexing.stores import ScoredPoint
from retrieval.search.flat import GROUPING_DEPTH, rank_groups
from retrieval.search.targets import Candidate, Target

TARGET = Target("plain", 1, IndexSpec(name="plain"), ("chunk",), "plain.1", EVERYTHING)


def make_ranking(*passages: tuple[str, float]) -> list[Candidate]:
    """Of pages and scores; the best come first."""
    return [
        Candidate(TARGET, ScoredPoint(UUID(int=number), score, {"page_id": page}))
        for number, (page, score) in enumerate(passages)
    ]


def rank(*passages: tuple[str, float]) -> dict[str, float]:
    """Page -> its score, the best first."""
    ranked = rank_groups("page_id", make_ranking(*passages))
    return {each.point.payload["page_id"]: each.score for each in ranked}


class TestRankGroups:
    def test_keeps_the_best_passage_of_each(self):
        passages = make_ranking(("a", 3.0), ("b", 2.0), ("a", 1.0), ("b", 0.5))

        ranked = rank_groups("page_id", passages)

        assert [each.point for each in ranked] == [each.point for each in passages[:2]]

    def test_adds_a_tenth_of_what_the_second_scores_above_seven_tenths(self):
        scores = rank(("a", 1.0), ("a", 0.9), ("a", 0.8))

        assert scores == {"a": pytest.approx(1.0 + 0.1 * (0.9 - 0.7))}

    def test_prefers_a_page_with_a_close_second_passage(self):
        assert list(rank(("a", 1.0), ("b", 0.99), ("b", 0.98), ("a", 0.5))) == ["b", "a"]

    def test_leaves_the_score_without_a_close_second_passage(self):
        assert rank(("a", 1.0), ("b", 0.9), ("a", 0.6)) == {"a": 1.0, "b": 0.9}

    def test_leaves_negative_scores(self):
        assert rank(("a", -0.1), ("a", -0.2)) == {"a": -0.1}

    def test_counts_no_second_passage_far_down(self):
        others = [(f"other {n}", 0.95) for n in range(GROUPING_DEPTH - 1)]

        scores = rank(("a", 1.0), *others, ("a", 0.94))

        assert scores["a"] == 1.0

    def test_counts_no_text_twice_that_two_strategies_cut(self):
        names = ["sentence", "paragraph"]
        strategies = [{"name": name} for name in names]
        spec = IndexSpec.model_validate({"name": "plain", "chunks": {"strategies": strategies}})
        target = Target("plain", 1, spec, ("chunk",), "plain.1", EVERYTHING)
        place = {"page_id": "a", "source_id": "s", "start_offset": 0, "end_offset": 9}
        passages = [
            Candidate(target, ScoredPoint(UUID(int=n), 1 - n / 10, {**place, "strategy": name}))
            for n, name in enumerate(names)
        ]

        [found] = rank_groups("page_id", passages)

        assert found.score == 1.0
