"""Explains scores: the ranks of a hit in the dense and sparse ranking, and their contributions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from indexing.stores import (
    DenseVector,
    Filter,
    Query,
    RankFusion,
    ScoredPoint,
    SparseVector,
    get_store,
)

# The store returns 32-bit floats. Down to rank 1,000 neighbouring ranks differ by far more.
_SCORE_TOLERANCE = 1e-7
_TIES_FETCHED = 50  # points fetched beyond the last candidate, to see which tie with it


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """What one ranking contributes to a hit's score. ``rank`` counts from 1; ``score`` is None if
    the store's approximate search did not return the hit when asked again."""

    rank: int
    score: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions add up to the hit's score."""

    dense: ScoreShare | None
    sparse: ScoreShare | None
    fusion: RankFusion | None  # None where there was only one ranking


@dataclass(frozen=True, slots=True)
class _CandidateRanks:
    """A point's score in one ranking, and the ranks it shares with all that score the same."""

    score: float
    ranks: range


def explain_single_ranking(
    ranking: Sequence[ScoredPoint], scores: Mapping[UUID, float], *, is_dense: bool
) -> dict[UUID, Explanation]:
    """Explain each point of ``scores`` by its rank in the only ranking."""
    explanations = {}
    for rank, point in enumerate(ranking, start=1):
        if point.id in scores:
            share = ScoreShare(rank, point.score, point.score)
            explanations[point.id] = Explanation(
                dense=share if is_dense else None, sparse=None if is_dense else share, fusion=None
            )
    return explanations


def explain_fused_ranking(
    collection: str,
    scores: Mapping[UUID, float],
    *,
    dense: DenseVector | None,
    sparse: SparseVector | None,
    fusion: RankFusion,
    filter: Filter | None,
) -> dict[UUID, Explanation]:
    """Explain each fused score by the point's ranks in the dense and the sparse ranking.

    Sends two more requests to the store. Ties have no fixed order and an approximate search may
    differ from the one before, so among the possible ranks those that give the score are chosen.

    Raises:
        StoreUnavailable: retry helps.
    """
    in_dense: dict[UUID, _CandidateRanks] = {}
    in_sparse: dict[UUID, _CandidateRanks] = {}
    if fusion.dense_weight:
        in_dense = _list_candidates(collection, fusion, Query(dense=dense, filter=filter))
    if fusion.sparse_weight:
        in_sparse = _list_candidates(collection, fusion, Query(sparse=sparse, filter=filter))
    return {
        point_id: _find_ranks_of_score(
            score, in_dense.get(point_id), in_sparse.get(point_id), fusion
        )
        for point_id, score in scores.items()
    }


def _list_candidates(
    collection: str, fusion: RankFusion, query: Query
) -> dict[UUID, _CandidateRanks]:
    """List the candidates of one ranking, with all that tie with the last one."""
    ranking = get_store().search(collection, replace(query, limit=fusion.prefetch + _TIES_FETCHED))
    first_rank_by_score: dict[float, int] = {}
    last_rank_by_score: dict[float, int] = {}
    for rank, point in enumerate(ranking, start=1):
        first_rank_by_score.setdefault(point.score, rank)
        last_rank_by_score[point.score] = rank
    return {
        point.id: _CandidateRanks(
            point.score,
            range(first_rank_by_score[point.score], last_rank_by_score[point.score] + 1),
        )
        for point in ranking
        if first_rank_by_score[point.score] <= fusion.prefetch
    }


def _find_ranks_of_score(
    score: float, dense: _CandidateRanks | None, sparse: _CandidateRanks | None, fusion: RankFusion
) -> Explanation:
    """Find the pair of ranks that gives the score, the dense one nearest to its listed rank."""
    best: tuple[int, int | None, int | None] | None = None
    for sparse_rank in _list_possible_ranks(sparse, fusion):
        dense_contribution = score - _compute_contribution(
            sparse_rank, fusion.sparse_weight, fusion
        )
        dense_rank = _find_rank_of_contribution(dense_contribution, fusion)
        if (
            abs(dense_contribution - _compute_contribution(dense_rank, fusion.dense_weight, fusion))
            > _SCORE_TOLERANCE
        ):
            continue
        distance = _rank_distance(dense_rank, dense)
        if best is None or distance < best[0]:
            best = distance, dense_rank, sparse_rank
    if best is None:
        dense_rank = None if dense is None else dense.ranks[0]
        sparse_rank = None if sparse is None else sparse.ranks[0]
    else:
        _, dense_rank, sparse_rank = best
    return Explanation(
        dense=_make_share(dense_rank, dense, fusion.dense_weight, fusion),
        sparse=_make_share(sparse_rank, sparse, fusion.sparse_weight, fusion),
        fusion=fusion,
    )


def _list_possible_ranks(
    candidate_ranks: _CandidateRanks | None, fusion: RankFusion
) -> Iterable[int | None]:
    """The ranks that the point may have had; None: it may not have been a candidate."""
    if candidate_ranks is None:
        return [None]
    ranks = [rank for rank in candidate_ranks.ranks if rank <= fusion.prefetch]
    return [*ranks, None] if candidate_ranks.ranks[-1] > fusion.prefetch else ranks


def _compute_contribution(rank: int | None, weight: float, fusion: RankFusion) -> float:
    return 0.0 if rank is None else weight / (fusion.k + rank)


def _find_rank_of_contribution(contribution: float, fusion: RankFusion) -> int | None:
    if contribution <= _SCORE_TOLERANCE or fusion.dense_weight == 0:
        return None
    rank = round(fusion.dense_weight / contribution - fusion.k)
    return min(max(rank, 1), fusion.prefetch)


def _rank_distance(rank: int | None, candidate_ranks: _CandidateRanks | None) -> int:
    if rank is None and candidate_ranks is None:
        return 0
    if rank is None or candidate_ranks is None:
        return 1_000_000
    nearest = min(max(rank, candidate_ranks.ranks[0]), candidate_ranks.ranks[-1])
    return abs(rank - nearest)


def _make_share(
    rank: int | None, candidate_ranks: _CandidateRanks | None, weight: float, fusion: RankFusion
) -> ScoreShare | None:
    if rank is None:
        return None
    score = None if candidate_ranks is None else candidate_ranks.score
    return ScoreShare(rank, score, _compute_contribution(rank, weight, fusion))
