import numpy as np
import pytest

from core.marginal_relevance import choose_by_marginal_relevance

# Two equal vectors and a different one.
VECTORS = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)


class TestChooseByMarginalRelevance:
    def test_agrees_with_an_example_computed_by_hand(self):
        chosen = choose_by_marginal_relevance([1.0, 0.9, 0.5], VECTORS, weight=0.5, count=3)

        assert [row for row, _ in chosen] == [0, 2, 1]
        assert [value for _, value in chosen] == pytest.approx([0.5, 0.25, 0.45 - 0.5])

    def test_orders_by_relevance_only_at_one(self):
        chosen = choose_by_marginal_relevance([0.5, 1.0, 0.9], VECTORS, weight=1, count=3)

        assert [row for row, _ in chosen] == [1, 2, 0]

    def test_chooses_at_most_the_count(self):
        chosen = choose_by_marginal_relevance([1.0, 0.9, 0.5], VECTORS, weight=0.5, count=2)

        assert len(chosen) == 2

    def test_leaves_duplicates_out(self):
        chosen = choose_by_marginal_relevance(
            [1.0, 0.9, 0.5], VECTORS, weight=1, count=3, duplicate_cosine=0.95
        )

        assert [row for row, _ in chosen] == [0, 2]
