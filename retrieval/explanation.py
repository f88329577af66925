"""Explains scores: the ranks of a hit in the dense and sparse ranking, and their contributions."""

from dataclasses import dataclass

from retrieval.fusion import HybridFusion, HybridRanking, ScoreShare


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions add up to the hit's score."""

    dense: ScoreShare | None
    sparse: ScoreShare | None
    fusion: HybridFusion | None  # None if there was only one ranking


def explain_fused_hit(id: int, ranking: HybridRanking, fusion: HybridFusion) -> Explanation:
    return Explanation(dense=ranking.dense.get(id), sparse=ranking.sparse.get(id), fusion=fusion)


def explain_single_hit(rank: int, score: float, *, is_dense: bool) -> Explanation:
    share = ScoreShare(rank, score, score)
    return Explanation(
        dense=share if is_dense else None, sparse=None if is_dense else share, fusion=None
    )
