import numpy as np
import pytest

from answers.pipelines.diversity import Diversity, min_max_scale, stack_unit_vectors
from answers.pipelines.multi_query_retriever import MultiQueryRetriever
from core.exceptions import InvalidInput
from indexing.models import Index
from tests.answers.pipelines.making import make_passage
from tests.factories import PARAGRAPHS, give, sync


class TestScaleScores:
    def test_stretches_any_scale_from_zero_to_one(self):
        assert min_max_scale([-2, 0, 6]) == [0, 0.25, 1]

    def test_scales_equal_scores_to_one(self):
        assert min_max_scale([3, 3]) == [1, 1]


class TestStackVectors:
    def test_makes_a_missing_vector_a_zero_row(self):
        stacked = stack_unit_vectors([np.array([3, 4], dtype=np.float32), None])

        np.testing.assert_allclose(stacked, [[0.6, 0.8], [0, 0]])


class TestDiversity:
    def test_changes_nothing_at_one(self):
        passages = [make_passage("a"), make_passage("b")]

        assert Diversity().run(passages=passages, limit=1)["passages"] == passages

    def test_ranks_a_duplicate_below_another_text(self, build):
        first, twin, other = (
            give(text, title=title)
            for text, title in [
                (PARAGRAPHS[0], "One"), (PARAGRAPHS[0], "Two"), (PARAGRAPHS[1], "Three"),
            ]
        )  # fmt: skip
        sync(build, first, twin, other)
        [ranking] = MultiQueryRetriever().run("plain", ["the heron waits for fish"])["rankings"]
        by_title = [each.hit.payload["artifact_title"] for each in ranking.passages]
        assert set(by_title[:2]) == {"One", "Two"}

        diverse = Diversity(relevance=0.3).run(passages=ranking.passages, limit=3)["passages"]

        titles = [each.hit.payload["artifact_title"] for each in diverse]
        assert titles[0] == by_title[0]
        assert titles[1] == "Three"
        assert diverse[1].steps[-1]["rank_before"] == 3
        assert {each.score_kind for each in diverse} == {"mmr"}

    def test_keeps_passages_that_are_no_longer_in_the_index(self, build):
        Index.objects.create(name="notes")  # the passages' index, without a live build

        passages = [make_passage("a", score=2.0), make_passage("b", score=1.0)]

        assert Diversity(relevance=0.5).run(passages=passages, limit=2)["passages"][0].id == (
            passages[0].id
        )

    @pytest.mark.parametrize("relevance", [-0.1, 1.1])
    def test_refuses_a_relevance_outside_zero_to_one(self, relevance):
        with pytest.raises(InvalidInput):
            Diversity(relevance=relevance)
