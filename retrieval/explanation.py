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
_TOLERANCE = 1e-7
_TIES_BEYOND = 50  # looked at beyond the last candidate, for ties with it


@dataclass(frozen=True, slots=True)
class Share:
    """What one ranking gave to a hit's score. ``rank`` counts from 1; ``score`` is None where
    the store's approximate search did not bring the hit up a second time."""

    rank: int
    score: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions add up to the hit's score."""

    dense: Share | None
    sparse: Share | None
    fusion: RankFusion | None  # None where one ranking stood alone


@dataclass(frozen=True, slots=True)
class _Standing:
    """A point's score in one ranking, and the ranks it shares with all that score the same."""

    score: float
    ranks: range


def explain_alone(
    ranking: Sequence[ScoredPoint], scores: Mapping[UUID, float], *, is_dense: bool
) -> dict[UUID, Explanation]:
    """For each point of ``scores``, its place in the only ranking there was."""
    explanations = {}
    for rank, point in enumerate(ranking, start=1):
        if point.id in scores:
            share = Share(rank, point.score, point.score)
            explanations[point.id] = Explanation(
                dense=share if is_dense else None, sparse=None if is_dense else share, fusion=None
            )
    return explanations


def explain_fused(
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
    in_dense: dict[UUID, _Standing] = {}
    in_sparse: dict[UUID, _Standing] = {}
    if fusion.dense_weight:
        in_dense = _stand(collection, fusion, Query(dense=dense, filter=filter))
    if fusion.sparse_weight:
        in_sparse = _stand(collection, fusion, Query(sparse=sparse, filter=filter))
    return {
        point_id: _add_up(score, in_dense.get(point_id), in_sparse.get(point_id), fusion)
        for point_id, score in scores.items()
    }


def _stand(collection: str, fusion: RankFusion, query: Query) -> dict[UUID, _Standing]:
    """Every candidate of one ranking; in the last place, all that tie for it."""
    ranking = get_store().search(collection, replace(query, limit=fusion.prefetch + _TIES_BEYOND))
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for rank, point in enumerate(ranking, start=1):
        first.setdefault(point.score, rank)
        last[point.score] = rank
    return {
        point.id: _Standing(point.score, range(first[point.score], last[point.score] + 1))
        for point in ranking
        if first[point.score] <= fusion.prefetch
    }


def _add_up(
    score: float, dense: _Standing | None, sparse: _Standing | None, fusion: RankFusion
) -> Explanation:
    """The pair of ranks that gives the score, the dense one nearest to where it stands."""
    best: tuple[int, int | None, int | None] | None = None
    for sparse_rank in _possible_ranks(sparse, fusion):
        rest = score - _contribution(sparse_rank, fusion.sparse_weight, fusion)
        dense_rank = _rank_giving(rest, fusion)
        if abs(rest - _contribution(dense_rank, fusion.dense_weight, fusion)) > _TOLERANCE:
            continue
        distance = _distance(dense_rank, dense)
        if best is None or distance < best[0]:
            best = distance, dense_rank, sparse_rank
    if best is None:
        dense_rank = None if dense is None else dense.ranks[0]
        sparse_rank = None if sparse is None else sparse.ranks[0]
    else:
        _, dense_rank, sparse_rank = best
    return Explanation(
        dense=_share(dense_rank, dense, fusion.dense_weight, fusion),
        sparse=_share(sparse_rank, sparse, fusion.sparse_weight, fusion),
        fusion=fusion,
    )


def _possible_ranks(standing: _Standing | None, fusion: RankFusion) -> Iterable[int | None]:
    """None where it may not have been among the candidates."""
    if standing is None:
        return [None]
    ranks = [rank for rank in standing.ranks if rank <= fusion.prefetch]
    return [*ranks, None] if standing.ranks[-1] > fusion.prefetch else ranks


def _contribution(rank: int | None, weight: float, fusion: RankFusion) -> float:
    return 0.0 if rank is None else weight / (fusion.k + rank)


def _rank_giving(contribution: float, fusion: RankFusion) -> int | None:
    if contribution <= _TOLERANCE or fusion.dense_weight == 0:
        return None
    rank = round(fusion.dense_weight / contribution - fusion.k)
    return min(max(rank, 1), fusion.prefetch)


def _distance(rank: int | None, standing: _Standing | None) -> int:
    if rank is None and standing is None:
        return 0
    if rank is None or standing is None:
        return 1_000_000
    nearest = min(max(rank, standing.ranks[0]), standing.ranks[-1])
    return abs(rank - nearest)


def _share(
    rank: int | None, standing: _Standing | None, weight: float, fusion: RankFusion
) -> Share | None:
    if rank is None:
        return None
    score = None if standing is None else standing.score
    return Share(rank, score, _contribution(rank, weight, fusion))
