"""Why a hit scored as it did."""

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

# Scores come as 32-bit floats. Neighbouring ranks differ by far more, down to rank 1,000.
_SCORE_TOLERANCE = 1e-7
_TIES_FETCHED = 50  # looked at beyond the last candidate, for ties with it


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """What one ranking gave to a hit's score. ``rank`` counts from 1; ``score`` is None where
    the store's approximate search did not bring the hit up a second time."""

    rank: int
    score: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions add up to the hit's score."""

    dense: ScoreShare | None
    sparse: ScoreShare | None
    fusion: RankFusion | None  # None where one ranking stood alone


@dataclass(frozen=True, slots=True)
class _CandidateRanks:
    """A point's score in one ranking, and the ranks it shares with all that score the same."""

    score: float
    ranks: range


def explain_single_ranking(
    ranking: Sequence[ScoredPoint], scores: Mapping[UUID, float], *, is_dense: bool
) -> dict[UUID, Explanation]:
    """For each point of ``scores``, its place in the only ranking there was."""
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
    """For each point of ``scores`` (its fused score), its places in the two rankings fused.

    Two more requests to the store. Points that tie stand in no certain order, and an
    approximate search may differ from the one before, so where several ranks are possible
    those are taken that give the score.

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
    """Every candidate of one ranking; in the last place, all that tie for it."""
    ranking = get_store().search(collection, replace(query, limit=fusion.prefetch + _TIES_FETCHED))
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for rank, point in enumerate(ranking, start=1):
        first.setdefault(point.score, rank)
        last[point.score] = rank
    return {
        point.id: _CandidateRanks(point.score, range(first[point.score], last[point.score] + 1))
        for point in ranking
        if first[point.score] <= fusion.prefetch
    }


def _find_ranks_of_score(
    score: float, dense: _CandidateRanks | None, sparse: _CandidateRanks | None, fusion: RankFusion
) -> Explanation:
    """The pair of ranks that gives the score, the dense one nearest to where it stands."""
    best: tuple[int, int | None, int | None] | None = None
    for sparse_rank in _possible_ranks(sparse, fusion):
        rest = score - _contribution(sparse_rank, fusion.sparse_weight, fusion)
        dense_rank = _rank_of_contribution(rest, fusion)
        if abs(rest - _contribution(dense_rank, fusion.dense_weight, fusion)) > _SCORE_TOLERANCE:
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


def _possible_ranks(standing: _CandidateRanks | None, fusion: RankFusion) -> Iterable[int | None]:
    """None where it may not have been among the candidates."""
    if standing is None:
        return [None]
    ranks = [rank for rank in standing.ranks if rank <= fusion.prefetch]
    return [*ranks, None] if standing.ranks[-1] > fusion.prefetch else ranks


def _contribution(rank: int | None, weight: float, fusion: RankFusion) -> float:
    return 0.0 if rank is None else weight / (fusion.k + rank)


def _rank_of_contribution(contribution: float, fusion: RankFusion) -> int | None:
    if contribution <= _SCORE_TOLERANCE or fusion.dense_weight == 0:
        return None
    rank = round(fusion.dense_weight / contribution - fusion.k)
    return min(max(rank, 1), fusion.prefetch)


def _rank_distance(rank: int | None, standing: _CandidateRanks | None) -> int:
    if rank is None and standing is None:
        return 0
    if rank is None or standing is None:
        return 1_000_000
    nearest = min(max(rank, standing.ranks[0]), standing.ranks[-1])
    return abs(rank - nearest)


def _make_share(
    rank: int | None, standing: _CandidateRanks | None, weight: float, fusion: RankFusion
) -> ScoreShare | None:
    if rank is None:
        return None
    score = None if standing is None else standing.score
    return ScoreShare(rank, score, _contribution(rank, weight, fusion))
