"""Fusion of several rankings into one: pure functions of ids and numbers."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean, geometric_mean
from typing import Literal, TypeVar

import numpy as np

Id = TypeVar("Id", str, int)
FusionMethod = Literal["ranks", "scores"]

RRF_K = 60  # as in the paper


@dataclass(frozen=True, slots=True)
class HybridFusion:
    """How an index fuses the dense and the sparse ranking of a query, ``prefetch`` ids of each: by
    reciprocal ranks, or by standard scores, which ignore ``k``.

    A ranking of weight 0 is ignored: it adds no ids.
    """

    k: int = RRF_K
    dense_weight: float = 1.0
    sparse_weight: float = 1.0
    prefetch: int = 100
    method: FusionMethod = "ranks"

    @property
    def is_default(self) -> bool:
        """Whether the store's own fusion gives the same scores."""
        return self.method == "ranks" and self.dense_weight == self.sparse_weight == 1


def mean_fusion(fusions: Collection[HybridFusion]) -> HybridFusion:
    """Combine the settings of several indexes that are ranked as one, because scores by different
    settings are not comparable: the means of the weights, the geometric mean of k, whose effect
    depends on ratios, and the largest ``prefetch``. Ranks are fused unless all fuse scores."""
    return HybridFusion(
        k=round(geometric_mean([fusion.k for fusion in fusions])),
        dense_weight=fmean(fusion.dense_weight for fusion in fusions),
        sparse_weight=fmean(fusion.sparse_weight for fusion in fusions),
        prefetch=max(fusion.prefetch for fusion in fusions),
        method="scores" if all(fusion.method == "scores" for fusion in fusions) else "ranks",
    )


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """What one ranking contributes to a hit's score. ``rank`` counts from 1."""

    rank: int
    score: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains a hit's score: the contributions of the rankings and ``second_passage`` add up to
    it."""

    dense: ScoreShare | None
    sparse: ScoreShare | None
    fusion: HybridFusion | None = None  # None if there was only one ranking
    second_passage: float = 0.0  # what another passage of its page or artifact adds
    words: Mapping[str, str] = field(default_factory=dict)  # of the query, as the passage has them


@dataclass(frozen=True, slots=True)
class HybridRanking:
    """The dense and the sparse ranking of a query, by id, and both fused (id, score; best
    first)."""

    dense: Mapping[int, ScoreShare]
    sparse: Mapping[int, ScoreShare]
    fused: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class CollectionRankings:
    """The dense and the sparse ranking of one collection: ids with their scores, best first.

    ``space`` and ``sparse_space`` name the vector spaces: scores of different models are not
    comparable.
    """

    dense: Sequence[tuple[int, float]]
    sparse: Sequence[tuple[int, float]]
    space: Hashable = None
    sparse_space: Hashable = None


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
    rankings: Sequence[Sequence[Id]], *, k: float = RRF_K
) -> list[tuple[Id, float]]:
    """Fuse rankings by the reciprocal of each id's rank.

    An id scores ``sum(1 / (k + rank))`` over the rankings that contain it, with ``rank`` counted
    from 1. The rankings' own scores are not used, so their scales may differ.

    Args:
        rankings: ids, best first, each once.
        k: damping; larger values reduce the differences between the top ranks.

    Returns:
        Each id once with its score, best first; ties by id.

    Source:
        Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
        individual Rank Learning Methods", SIGIR 2009.
    """
    scores: defaultdict[Id, float] = defaultdict(float)
    for ranking in rankings:
        for rank, id in enumerate(ranking, start=1):
            scores[id] += 1 / (k + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))


def fuse_collections(
    collections: Sequence[CollectionRankings], fusion: HybridFusion
) -> HybridRanking:
    """Fuse the rankings of several collections as if all their ids were in one.

    The dense rankings are merged by cosine and the sparse rankings by BM25 score, so that an id's
    rank is its rank among the ids of all collections. These ranks, or their scores, are fused.
    Fusing the collections' own ranks would give the best id of each collection the same score,
    however little it has to do with the query.

    Rankings of different models are merged for each model, and the ranks within a model count. The
    ids of the collections are distinct.

    Source:
        Merging by score instead of by rank, if the scores have one scale: Callan, Lu and Croft,
        "Searching Distributed Collections with Inference Networks", SIGIR 1995.
    """
    depth = fusion.prefetch
    dense = _merge_by_space([(each.space, each.dense) for each in collections], depth)
    sparse = _merge_by_space([(each.sparse_space, each.sparse) for each in collections], depth)
    count = max(map(len, dense), default=0) if fusion.dense_weight else 0
    dense_shares: dict[int, ScoreShare] = {}
    for ranking in dense if fusion.dense_weight else ():
        dense_shares |= _share(ranking, fusion.dense_weight, fusion, count=len(ranking))
    sparse_shares: dict[int, ScoreShare] = {}
    for ranking in sparse if fusion.sparse_weight else ():
        sparse_shares |= _share(ranking, fusion.sparse_weight, fusion, count=count)
    scores: defaultdict[int, float] = defaultdict(float)
    for id, share in chain(dense_shares.items(), sparse_shares.items()):
        scores[id] += share.contribution
    return HybridRanking(dense_shares, sparse_shares, _merge_by_score([scores.items()]))


def _merge_by_space(
    rankings: Iterable[tuple[Hashable, Sequence[tuple[int, float]]]], depth: int
) -> list[list[tuple[int, float]]]:
    """One ranking for each vector space, from the rankings of collections with their spaces."""
    by_space: defaultdict[Hashable, list[Sequence[tuple[int, float]]]] = defaultdict(list)
    for space, ranking in rankings:
        by_space[space].append(ranking)
    return [_merge_by_score(of_space)[:depth] for of_space in by_space.values()]


def _share(
    ranking: Sequence[tuple[int, float]], weight: float, fusion: HybridFusion, *, count: int
) -> dict[int, ScoreShare]:
    if fusion.method == "scores":
        standard = standardise_scores([score for _, score in ranking], count)
        contributions = [weight * score for score in standard]
    else:
        contributions = [weight / (fusion.k + rank) for rank in range(1, len(ranking) + 1)]
    return {
        id: ScoreShare(rank, score, contribution)
        for rank, ((id, score), contribution) in enumerate(
            zip(ranking, contributions, strict=True), start=1
        )
    }


def standardise_scores(scores: Sequence[float], count: int) -> list[float]:
    """How many standard deviations each score of a ranking is above the lowest.

    An id that the ranking lacks counts as the lowest, so it gets 0. Standard deviations make
    rankings comparable whose scores have other scales: the cosines of one model lie between 0 and
    0.8, those of another between 0.75 and 0.9.

    Args:
        scores: best first.
        count: ids that were ranked. If there are fewer scores, the other ids scored 0, as texts
            without a word of the query do.

    Source:
        ZMUV in Montague and Aslam, "Relevance Score Normalization for Metasearch", CIKM 2001. The
        weighted sum is the convex combination of Bruch, Gai and Ingber, "An Analysis of Fusion
        Functions for Hybrid Retrieval", ACM TOIS 2023.
    """
    if not scores:
        return []
    known = np.zeros(max(count, len(scores)))
    known[: len(scores)] = scores
    deviation = float(known.std())
    if deviation < 1e-8:  # equal, except for rounding
        return [1.0] * len(scores)
    return ((known[: len(scores)] - known.min()) / deviation).tolist()


def _merge_by_score(rankings: Iterable[Iterable[tuple[int, float]]]) -> list[tuple[int, float]]:
    return sorted(chain.from_iterable(rankings), key=lambda scored: (-scored[1], scored[0]))


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
