import json
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import (
    CollectionRankings,
    HybridFusion,
    comb_sum,
    fuse_collections,
    mean_fusion,
    reciprocal_rank_fusion,
    similarity_and_rank_fusion,
    standardise_scores,
)

SCIFACT = Path(settings.BASE_DIR).parent / "shared" / "data" / "beir" / "scifact"
DEPTH = 100

ids = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)
rankings = st.lists(ids, max_size=5)


def measured(ranking):
    return [(id, 1 - rank / 20) for rank, id in enumerate(ranking)]


def ranks_and_scores(shares):
    return {id: (share.rank, share.score) for id, share in shares.items()}


def fuse_with_numpy(found, k):
    """The same formula on a matrix of ranks (rankings by ids), infinite for missing ids."""
    names = sorted({id for ranking in found for id in ranking})
    ranks = np.full((len(found), len(names)), np.inf)
    for row, ranking in enumerate(found):
        for rank, id in enumerate(ranking, start=1):
            ranks[row, names.index(id)] = rank
    return dict(zip(names, (1 / (k + ranks)).sum(axis=0), strict=True))


class TestReciprocalRankFusion:
    def test_agrees_with_an_example_computed_by_hand(self):
        fused = reciprocal_rank_fusion([["a", "b", "c"], ["c", "a"]], k=60)

        assert [id for id, _ in fused] == ["a", "c", "b"]
        assert dict(fused) == pytest.approx(
            {"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61, "b": 1 / 62}, abs=1e-15
        )

    def test_orders_equals_by_id(self):
        assert [id for id, _ in reciprocal_rank_fusion([["b"], ["a"]])] == ["a", "b"]

    @given(rankings, st.integers(1, 1_000))
    def test_agrees_with_the_formula_over_matrices(self, found, k):
        fused = reciprocal_rank_fusion(found, k=k)

        assert dict(fused) == pytest.approx(fuse_with_numpy(found, k), abs=1e-9)

    @given(rankings)
    def test_names_each_id_once_best_first(self, found):
        fused = reciprocal_rank_fusion(found)

        assert {id for id, _ in fused} == {id for ranking in found for id in ranking}
        assert len(fused) == len(dict(fused))
        assert fused == sorted(fused, key=lambda scored: (-scored[1], scored[0]))

    @given(ids)
    def test_keeps_the_order_of_a_single_ranking(self, ranking):
        assert [id for id, _ in reciprocal_rank_fusion([ranking])] == ranking


class TestHybridFusion:
    RANKINGS = [CollectionRankings(((1, 0.9), (2, 0.8), (3, 0.7)), ((3, 5.0), (4, 4.0)))]

    @pytest.mark.parametrize(
        ("dense_weight", "sparse_weight"), [(1, 1), (2, 1), (0.25, 2.5), (2, 2)]
    )
    def test_sums_weighted_reciprocal_ranks(self, dense_weight, sparse_weight):
        fusion = HybridFusion(dense_weight=dense_weight, sparse_weight=sparse_weight)

        ranking = fuse_collections(self.RANKINGS, fusion)

        assert dict(ranking.fused) == pytest.approx(
            {
                1: dense_weight / 61,
                2: dense_weight / 62,
                3: dense_weight / 63 + sparse_weight / 61,
                4: sparse_weight / 62,
            }
        )

    def test_leaves_out_a_ranking_without_weight(self):
        ranking = fuse_collections(self.RANKINGS, HybridFusion(dense_weight=0))

        assert [id for id, _ in ranking.fused] == [3, 4]
        assert ranking.dense == {}

    def test_returns_nothing_if_all_weights_are_zero(self):
        fusion = HybridFusion(dense_weight=0, sparse_weight=0)

        assert fuse_collections(self.RANKINGS, fusion).fused == []

    def test_returns_rank_and_score_in_each_ranking(self):
        ranking = fuse_collections(self.RANKINGS, HybridFusion())

        assert ranks_and_scores(ranking.dense) == {1: (1, 0.9), 2: (2, 0.8), 3: (3, 0.7)}
        assert ranks_and_scores(ranking.sparse) == {3: (1, 5.0), 4: (2, 4.0)}

    def test_fuses_only_the_requested_candidates_of_each_ranking(self):
        ranking = fuse_collections(self.RANKINGS, HybridFusion(prefetch=1))

        assert [id for id, _ in ranking.fused] == [1, 3]

    def test_sums_weighted_standard_scores(self):
        fusion = HybridFusion(dense_weight=2, method="scores")

        ranking = fuse_collections(self.RANKINGS, fusion)

        dense_deviation = np.std([0.9, 0.8, 0.7])
        sparse_deviation = np.std([5, 4, 0])  # one of the three texts has none of the words
        assert dict(ranking.fused) == pytest.approx(
            {
                1: 2 * 0.2 / dense_deviation,
                2: 2 * 0.1 / dense_deviation,
                3: 5 / sparse_deviation,
                4: 4 / sparse_deviation,
            }
        )

    @pytest.mark.parametrize("method", ["ranks", "scores"])
    def test_says_what_each_ranking_contributes(self, method):
        ranking = fuse_collections(self.RANKINGS, HybridFusion(sparse_weight=1.5, method=method))

        for id, score in ranking.fused:
            shares = [found[id] for found in (ranking.dense, ranking.sparse) if id in found]
            assert score == pytest.approx(sum(share.contribution for share in shares))


class TestStandardiseScores:
    def test_does_not_depend_on_the_scale(self):
        cosines = [0.8, 0.5, 0.4, 0.3]
        narrow = [0.8 + cosine / 20 for cosine in cosines]

        assert standardise_scores(cosines, 4) == pytest.approx(standardise_scores(narrow, 4))

    def test_sets_the_only_text_with_a_word_far_above_the_others(self):
        [only] = standardise_scores([7.0], 100)
        best, *_ = standardise_scores([7.0] * 50, 100)

        assert only == pytest.approx(10, abs=0.1)
        assert best == pytest.approx(2, abs=0.1)

    def test_gives_equal_scores_the_same(self):
        assert standardise_scores([0.1] * 3, 3) == [1.0] * 3
        assert standardise_scores([], 0) == []


scores = st.dictionaries(st.integers(0, 30), st.floats(-1, 1, allow_nan=False), max_size=20)


def rank(score_by_id):
    return sorted(score_by_id.items(), key=lambda scored: (-scored[1], scored[0]))


SETTINGS = [(60, 1, 1, "ranks"), (3, 1, 1.5, "ranks"), (5, 2, 0, "ranks"), (60, 2, 1, "scores")]


class TestFuseCollections:
    def test_does_not_favour_the_best_hit_of_a_poor_collection(self):
        good = CollectionRankings([(1, 0.9), (2, 0.8), (3, 0.7)], [(1, 9.0), (2, 8.0)])
        poor = CollectionRankings([(11, 0.2), (12, 0.1)], [(11, 1.0)])

        ranking = fuse_collections([poor, good], HybridFusion())

        assert [id for id, _ in ranking.fused] == [1, 2, 11, 3, 12]
        assert ranks_and_scores(ranking.dense)[11] == (4, 0.2)
        assert ranks_and_scores(ranking.sparse)[11] == (3, 1.0)

    @given(scores, scores, st.integers(2, 4), st.sampled_from(SETTINGS))
    def test_ranks_as_if_all_ids_were_in_one_collection(self, dense, sparse, count, settings):
        k, dense_weight, sparse_weight, method = settings
        fusion = HybridFusion(k, dense_weight, sparse_weight, prefetch=7, method=method)
        parts = [
            CollectionRankings(
                rank({id: score for id, score in dense.items() if id % count == part}),
                rank({id: score for id, score in sparse.items() if id % count == part}),
            )
            for part in range(count)
        ]

        whole = [CollectionRankings(rank(dense), rank(sparse))]
        assert fuse_collections(parts, fusion) == fuse_collections(whole, fusion)

    def test_compares_no_cosines_of_different_models(self):
        one = CollectionRankings([(1, 0.9), (2, 0.8)], [], space="one")
        other = CollectionRankings([(11, 0.3), (12, 0.2)], [(12, 4.0)], space="other")

        ranking = fuse_collections([one, other], HybridFusion())

        assert ranks_and_scores(ranking.dense) == {
            1: (1, 0.9), 2: (2, 0.8), 11: (1, 0.3), 12: (2, 0.2),
        }  # fmt: skip
        assert [id for id, _ in ranking.fused] == [12, 1, 11, 2]

    def test_compares_no_weights_of_different_sparse_models(self):
        one = CollectionRankings([], [(1, 0.9), (2, 0.8)])
        other = CollectionRankings([], [(11, 30.0), (12, 20.0)], sparse_space="learned")

        ranking = fuse_collections([one, other], HybridFusion())

        assert ranks_and_scores(ranking.sparse) == {
            1: (1, 0.9), 2: (2, 0.8), 11: (1, 30.0), 12: (2, 20.0),
        }  # fmt: skip


class TestMeanFusion:
    def test_keeps_settings_that_agree(self):
        fusion = HybridFusion(k=5, sparse_weight=1.2, prefetch=50)

        assert mean_fusion([fusion, fusion]) == fusion

    def test_fuses_scores_only_if_all_do(self):
        ranks, scores = HybridFusion(), HybridFusion(method="scores")

        assert mean_fusion([scores, scores]).method == "scores"
        assert mean_fusion([scores, ranks]).method == "ranks"

    def test_averages_settings_that_differ(self):
        fusions = [
            HybridFusion(60, 1, 1, 100),
            HybridFusion(5, 1, 1.2, 200),
            HybridFusion(3, 0.4, 1.4, 100),
        ]

        mean = mean_fusion(fusions)

        assert (mean.k, mean.prefetch) == (10, 200)
        assert (mean.dense_weight, mean.sparse_weight) == pytest.approx((0.8, 1.2))


class TestCombSum:
    def test_ranks_hits_of_several_ways_above_hits_of_one(self):
        assert comb_sum([0.495]) == 0.495
        assert comb_sum([0.495, 0.2]) == pytest.approx(0.695)
        assert comb_sum([0.495, 0.2, 0.1]) > comb_sum([0.495, 0.2]) > comb_sum([0.495])

    def test_ignores_negative_scores_beside_positive_ones(self):
        assert comb_sum([0.4, -0.3]) == 0.4
        assert comb_sum([-0.2, -0.3]) == -0.2


class TestSimilarityAndRankFusion:
    def test_agrees_with_an_example_computed_by_hand(self):
        found = [[("a", 0.9), ("b", 0.8)], [("b", 0.6), ("c", 0.5)]]

        fused = similarity_and_rank_fusion(found, w=0.4, k=60)

        sums = {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62}
        means = {"a": 0.9, "b": 0.7, "c": 0.5}
        expected = {id: 0.4 * means[id] + 0.6 * sums[id] / sums["b"] for id in sums}
        assert [each.id for each in fused] == ["b", "a", "c"]
        assert {each.id: each.score for each in fused} == pytest.approx(expected, abs=1e-15)
        assert {each.id: each.rrf for each in fused} == pytest.approx(sums, abs=1e-15)
        assert {each.id: each.mean_similarity for each in fused} == pytest.approx(means)
        assert fused[0].rrf_normalised == 1
        assert fused[0].ranks == {0: 2, 1: 1}

    def test_averages_similarity_over_queries_that_measured_it(self):
        [fused] = similarity_and_rank_fusion([[("a", None)], [("a", 0.5)]], w=1)

        assert fused.mean_similarity == fused.score == 0.5

    def test_treats_unmeasured_similarity_as_zero(self):
        [fused] = similarity_and_rank_fusion([[("a", None)]], w=1)

        assert fused.score == 0

    @pytest.mark.parametrize("w", [-0.1, 1.1])
    def test_refuses_a_weight_outside_zero_to_one(self, w):
        with pytest.raises(ValueError, match="between 0 and 1"):
            similarity_and_rank_fusion([], w=w)

    @given(rankings)
    def test_equals_rank_fusion_if_similarity_has_no_weight(self, found):
        fused = similarity_and_rank_fusion([measured(ranking) for ranking in found], w=0)

        assert [each.id for each in fused] == [id for id, _ in reciprocal_rank_fusion(found)]

    @given(rankings, st.floats(0, 1))
    def test_orders_by_falling_score_within_the_unit_interval(self, found, w):
        fused = similarity_and_rank_fusion([measured(ranking) for ranking in found], w=w)

        scores = [each.score for each in fused]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 + 1e-12 for score in scores)

    def test_returns_nothing_for_empty_rankings(self):
        assert similarity_and_rank_fusion([[], []], w=0.5) == []


@pytest.mark.skipif(not SCIFACT.is_dir(), reason=f"There is no {SCIFACT}.")
class TestOnScifact:
    @pytest.fixture
    def runs(self):
        """Three rankings for each of twenty queries: by the number of words shared with the title,
        with the text, and by that number relative to the text."""
        corpus = {line["_id"]: line for line in read_lines(SCIFACT / "corpus.jsonl")}
        titles = {id: set(line["title"].lower().split()) for id, line in corpus.items()}
        texts = {id: set(line["text"].lower().split()) for id, line in corpus.items()}
        runs = []
        for line in read_lines(SCIFACT / "queries.jsonl")[:20]:
            words = set(line["text"].lower().split())
            shared = {id: len(words & text) for id, text in texts.items()}
            scores = [
                {id: len(words & title) for id, title in titles.items()},
                shared,
                {id: shared[id] / (1 + len(text)) for id, text in texts.items()},
            ]
            runs.append([sorted(each, key=lambda id: (-each[id], id))[:DEPTH] for each in scores])
        return runs

    def test_agrees_with_the_formula_over_matrices(self, runs):
        for found in runs:
            fused = dict(reciprocal_rank_fusion(found, k=60))

            assert len(fused) > DEPTH
            assert fused == pytest.approx(fuse_with_numpy(found, 60), abs=1e-9)


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
