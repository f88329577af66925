import numpy as np

from summaries.extractive.summarising import choose_by_centroid


def unit(*rows):
    vectors = np.array(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class TestChooseCentral:
    def test_begins_with_the_row_nearest_to_the_mean(self):
        vectors = unit([1, 0, 0], [1, 1, 0.2], [0, 1, 0], [0, 0, 1])

        assert choose_by_centroid(vectors, 1) == [1]

    def test_prefers_different_rows_to_repeated_ones(self):
        vectors = unit([1, 0.2, 0], [1, -0.2, 0], [0.5, 0, 1])

        assert sorted(choose_by_centroid(vectors, 2)) == [0, 2]

    def test_chooses_one_of_two_duplicates(self):
        vectors = unit([1, 0], [1, 0.01], [0, 1])

        assert sorted(choose_by_centroid(vectors, 3)) in ([0, 2], [1, 2])

    def test_prefers_the_first_of_equal_rows(self):
        assert choose_by_centroid(unit([1, 0], [0, 1]), 1) == [0]

    def test_accepts_vectors_that_cancel_out(self):
        assert sorted(choose_by_centroid(unit([1, 0], [-1, 0]), 2)) == [0, 1]

    def test_chooses_nothing_without_vectors(self):
        assert choose_by_centroid(np.empty((0, 3), np.float32), 2) == []
