"""Fusion of several rankings into one: pure functions of ids and numbers."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, geometric_mean
from typing import TypeVar

Id = TypeVar("Id", str, int)

RRF_K = 60  # as in the paper


@dataclass(frozen=True, slots=True)
class HybridFusion:
    """How an index fuses the dense and the sparse ranking of a query, ``prefetch`` ids of each.

    A ranking of weight 0 is ignored: it adds no ids.
    """

    k: int = RRF_K
    dense_weight: float = 1.0
    sparse_weight: float = 1.0
    prefetch: int = 100

    @property
    def is_default(self) -> bool:
        """Whether the store's own fusion gives the same scores."""
        return self.dense_weight == self.sparse_weight == 1


def mean_fusion(fusions: Collection[HybridFusion]) -> HybridFusion:
    """Combine the settings of several indexes that are ranked as one, because scores by different
    settings are not comparable: the means of the weights, the geometric mean of k, whose effect
    depends on ratios, and the largest ``prefetch``."""
    return HybridFusion(
        k=round(geometric_mean([fusion.k for fusion in fusions])),
        dense_weight=fmean(fusion.dense_weight for fusion in fusions),
        sparse_weight=fmean(fusion.sparse_weight for fusion in fusions),
        prefetch=max(fusion.prefetch for fusion in fusions),
    )


@dataclass(frozen=True, slots=True)
class HybridRanking:
    """The dense and the sparse ranking of a query (id -> rank from 1, score), and both fused (id,
    score; best first)."""

    dense: Mapping[int, tuple[int, float]]
    sparse: Mapping[int, tuple[int, float]]
    fused: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class CollectionRankings:
    """The dense and the sparse ranking of one collection: ids with their scores, best first.

    ``space`` names the vector space: cosines of different models are not comparable.
    """

    dense: Sequence[tuple[int, float]]
    sparse: Sequence[tuple[int, float]]
    space: Hashable = None


@dataclass(frozen=True, slots=True)
class FusedId:
    """An id with its fused score and the terms of that score.

    ``rrf``: the sum of its reciprocal ranks. ``rrf_normalised``: ``rrf`` divided by the largest
    ``rrf`` of all ids. ``mean_similarity``: the mean over the queries that found the id, or 0 if
    none was measured. ``ranks``: number of the ranking, from 0 -> rank, from 1.
    """

    id: str
    score: float
    rrf: float
    rrf_normalised: float
    mean_similarity: float
    ranks: Mapping[int, int]


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Id]],
    *,
    weights: Sequence[float] | None = None,
    k: float = RRF_K,
) -> list[tuple[Id, float]]:
    """Fuse rankings by the reciprocal of each id's rank.

    An id scores ``sum(weight / (k + rank))`` over the rankings that contain it, with ``rank``
    counted from 1. The rankings' own scores are not used, so their scales may differ.

    Args:
        rankings: ids, best first, each once.
        weights: one per ranking; 1 each by default.
        k: damping; larger values reduce the differences between the top ranks.

    Returns:
        Each id once with its score, best first; ties by id.

    Raises:
        ValueError: ``weights`` and ``rankings`` differ in length.

    Source:
        Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
        individual Rank Learning Methods", SIGIR 2009. The weights are the usual extension.
    """
    weights = [1.0] * len(rankings) if weights is None else weights
    scores: defaultdict[Id, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, id in enumerate(ranking, start=1):
            scores[id] += weight / (k + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))


def fuse_collections(
    collections: Sequence[CollectionRankings], fusion: HybridFusion
) -> HybridRanking:
    """Fuse the rankings of several collections as if all their ids were in one.

    The dense rankings are merged by cosine and the sparse rankings by BM25 score, so that an id's
    rank is its rank among the ids of all collections. These ranks are fused by
    ``reciprocal_rank_fusion``. Fusing the collections' own ranks would give the best id of each
    collection the same score, however little it has to do with the query.

    Dense rankings of different models are merged for each model, and the ranks within a model
    count. The ids of the collections are distinct.

    Source:
        Merging by score instead of by rank, if the scores have one scale: Callan, Lu and Croft,
        "Searching Distributed Collections with Inference Networks", SIGIR 1995.
    """
    dense_by_space: defaultdict[Hashable, list[Sequence[tuple[int, float]]]] = defaultdict(list)
    for each in collections:
        dense_by_space[each.space].append(each.dense)
    depth = fusion.prefetch
    dense = [
        _merge_by_score(rankings)[:depth] if fusion.dense_weight else []
        for rankings in dense_by_space.values()
    ]
    sparse = (
        _merge_by_score([each.sparse for each in collections])[:depth]
        if fusion.sparse_weight
        else []
    )
    fused = reciprocal_rank_fusion(
        [[id for id, _ in ranking] for ranking in (*dense, sparse)],
        weights=[fusion.dense_weight] * len(dense) + [fusion.sparse_weight],
        k=fusion.k,
    )
    dense_ranks = {
        id: rank_and_score for ranking in dense for id, rank_and_score in _rank(ranking).items()
    }
    return HybridRanking(dense_ranks, _rank(sparse), fused)


def _merge_by_score(rankings: Iterable[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    return sorted(chain.from_iterable(rankings), key=lambda scored: (-scored[1], scored[0]))


def _rank(ranking: Sequence[tuple[int, float]]) -> dict[int, tuple[int, float]]:
    return {id: (rank, score) for rank, (id, score) in enumerate(ranking, start=1)}


def comb_sum(scores: Collection[float]) -> float:
    """Add the positive scores that several searches gave to one hit, so that it ranks above a hit
    that only one of them found equally well. If no score is positive, return the largest.

    Source:
        CombSUM: Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994. Weighted scores
        are the linear combination of Vogt and Cottrell, "Fusion Via a Linear Combination of
        Scores", Information Retrieval, 1999.
    """
    positive = [score for score in scores if score > 0]
    return sum(positive) if positive else max(scores)


def similarity_and_rank_fusion(
    rankings: Sequence[Sequence[tuple[str, float | None]]], *, w: float, k: float = RRF_K
) -> list[FusedId]:
    """Fuse the rankings of several queries by similarity and by rank.

    ``score = w * mean_similarity + (1 - w) * rrf_normalised``: the mean similarity to the queries
    that found it, and its normalised reciprocal ranks. Both are at most 1: a similarity is a
    cosine, and reciprocal-rank sums are divided by the largest one.

    Args:
        rankings: ids with their similarity to the query, best first, each once. A similarity of
            None was not measured and is left out of the mean.
        w: weight of the similarity, 0 to 1.

    Returns:
        Each id once, best first; ties by id.

    Raises:
        ValueError: ``w`` lies outside 0 to 1.

    Source:
        ``reciprocal_rank_fusion`` gives the second term. The convex combination with a score on a
        common scale follows Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid
        Retrieval", ACM TOIS 2023, who compare the two.
    """
    if not 0 <= w <= 1:
        raise ValueError(f"w must be between 0 and 1, not {w}.")
    ids = [[id for id, _ in ranking] for ranking in rankings]
    sums = dict(reciprocal_rank_fusion(ids, k=k))
    similarities: defaultdict[str, list[float]] = defaultdict(list)
    ranks: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, ranking in enumerate(rankings):
        for rank, (id, similarity) in enumerate(ranking, start=1):
            ranks[id][number] = rank
            if similarity is not None:
                similarities[id].append(similarity)
    largest = max(sums.values(), default=1.0)
    fused = []
    for id, rrf in sums.items():
        measured = similarities[id]
        mean = sum(measured) / len(measured) if measured else 0.0
        share = rrf / largest
        fused.append(FusedId(id, w * mean + (1 - w) * share, rrf, share, mean, ranks[id]))
    fused.sort(key=lambda each: (-each.score, each.id))
    return fused
