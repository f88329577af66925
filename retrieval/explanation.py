"""Explains scores: the ranks of a hit in the dense and sparse ranking, and their contributions."""

from dataclasses import dataclass

from retrieval.fusion import HybridFusion, HybridRanking


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """What one ranking contributes to a hit's score. ``rank`` counts from 1."""

    rank: int
    score: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions add up to the hit's score."""

    dense: ScoreShare | None
    sparse: ScoreShare | None
    fusion: HybridFusion | None  # None if there was only one ranking


def explain_fused_hit(id: int, ranking: HybridRanking, fusion: HybridFusion) -> Explanation:
    return Explanation(
        dense=_make_share(ranking.dense.get(id), fusion.dense_weight, fusion.k),
        sparse=_make_share(ranking.sparse.get(id), fusion.sparse_weight, fusion.k),
        fusion=fusion,
    )


def explain_single_hit(rank: int, score: float, *, is_dense: bool) -> Explanation:
    share = ScoreShare(rank, score, score)
    return Explanation(
        dense=share if is_dense else None, sparse=None if is_dense else share, fusion=None
    )


def _make_share(
    rank_and_score: tuple[int, float] | None, weight: float, k: float
) -> ScoreShare | None:
    if rank_and_score is None:
        return None
    rank, score = rank_and_score
    return ScoreShare(rank, score, weight / (k + rank))
