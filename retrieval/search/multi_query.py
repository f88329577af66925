"""Searches several queries at once, with a checked ranking for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from core.exceptions import InvalidInput
from indexing import embedding
from indexing.models import IndexBuild
from indexing.stores import (
    DenseVector,
    Query,
    RankFusion,
    ScoredPoint,
    encode_sparse_query,
    get_store,
)
from retrieval.explanation import Explanation, ScoreShare
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.ledger import LiveBuild
from retrieval.search.flat import Hit, Stopwatch, make_hit
from retrieval.search.hit_checks import DroppedPoints, HitChecks
from retrieval.search.request import StaleHitPolicy, check_query
from retrieval.search.targets import (
    Candidate,
    PointKey,
    Target,
    find_builds,
    get_passage_id,
    make_targets,
    parse_recipe,
)

MAX_QUERIES = 10
MAX_CANDIDATES = 1_000  # hits for each query
_EXTRA_HITS = 2  # checked beyond ``limit``, so that a dropped hit seldom costs a second check


@dataclass(frozen=True, slots=True)
class MultiQueryRequest:
    """``limit`` counts the hits of each query. ``filter`` is as callers write it."""

    index: str | IndexBuild
    queries: Sequence[str]
    limit: int = 10
    filter: Mapping[str, Any] | None = None
    stale: StaleHitPolicy = StaleHitPolicy.FLAG


@dataclass(frozen=True, slots=True)
class HitWithSimilarity:
    """``hit.score`` fuses the hit's dense and sparse rank for this query, as the spec says.
    ``similarity`` is the cosine to this query, None where the store no longer has its vector."""

    hit: Hit
    similarity: float | None


@dataclass(frozen=True, slots=True)
class MultiQueryAnswer:
    """``rankings``: one for each query, in their order, best first."""

    builds: dict[str, int | None]
    rankings: list[list[HitWithSimilarity]]
    dropped: DroppedPoints
    stale_artifact_ids: list[UUID]  # for the caller to have indexed again
    took_ms: dict[str, float]  # by stage


@dataclass(frozen=True, slots=True)
class _QueryRanks:
    """The dense and the sparse ranking of one query (rank from 1, score), and both fused."""

    dense: dict[UUID, tuple[int, float]]
    sparse: dict[UUID, tuple[int, float]]
    fused: list[Candidate]  # best first


def search_by_queries(request: MultiQueryRequest) -> MultiQueryAnswer:
    """Search the best passages for each of several queries.

    Passages are chunks, or the best question of each chunk where an index embeds no chunks.

    The queries are embedded in one batch and searched in one call of the store; every hit
    carries its explanation.

    Raises:
        InvalidInput: naming the parameter.
        UnknownIndex: with the names there are.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    watch = Stopwatch()
    _check_request(request)
    builds = find_builds([request.index])
    [build] = builds.values()
    checks = HitChecks()
    rankings: list[list[HitWithSimilarity]] = [[] for _ in request.queries]
    if build is not None:
        [target] = make_targets([build], [_choose_passage_kind(build)], request.filter)
        watch.start()
        vectors = embedding.get_embedder(target.spec.embedding).embed_queries(request.queries)
        watch.lap("embed")
        checks, rankings = _rank_queries(request, target, vectors, watch)
        if checks.orphans:
            # Most likely points were replaced between reading store and ledger. Search once more.
            checks, rankings = _rank_queries(request, target, vectors, watch)
    return MultiQueryAnswer(
        builds={name: found.number if found else None for name, found in builds.items()},
        rankings=rankings,
        dropped=checks.dropped,
        stale_artifact_ids=sorted(checks.stale_artifact_ids),
        took_ms=watch.took_ms(),
    )


def _check_request(request: MultiQueryRequest) -> None:
    if not 1 <= len(request.queries) <= MAX_QUERIES:
        raise InvalidInput(f"Give 1 to {MAX_QUERIES} queries.", field="queries")
    for query in request.queries:
        check_query([request.index], query)
    if not 1 <= request.limit <= MAX_CANDIDATES:
        raise InvalidInput(f"limit lies between 1 and {MAX_CANDIDATES}.", field="limit")


def _choose_passage_kind(build: LiveBuild) -> str:
    kinds = parse_recipe(build.recipe).kinds
    return "question" if "chunk" not in kinds and "question" in kinds else "chunk"


def _rank_queries(
    request: MultiQueryRequest, target: Target, vectors: DenseVector, watch: Stopwatch
) -> tuple[HitChecks, list[list[HitWithSimilarity]]]:
    fusion = target.fusion
    query_ranks = _search_dense_and_sparse(request, target, vectors, fusion)
    watch.lap("search")
    checks = HitChecks()
    served = _select_served(request, checks, [standings.fused for standings in query_ranks])
    watch.lap("verify")
    explanations = [
        {each.key: _explain_hits(each, standings, fusion) for each in ranking}
        for standings, ranking in zip(query_ranks, served, strict=True)
    ]
    similarities = _compute_similarities(target, vectors, query_ranks, served)
    watch.lap("search")
    rankings = [
        [
            HitWithSimilarity(make_hit(each, checks, explained), similarities[number].get(each.key))
            for each in ranking
        ]
        for number, (ranking, explained) in enumerate(zip(served, explanations, strict=True))
    ]
    return checks, rankings


def _search_dense_and_sparse(
    request: MultiQueryRequest, target: Target, vectors: DenseVector, fusion: RankFusion
) -> list[_QueryRanks]:
    """The dense and the sparse ranking of each query, as deep as in a hybrid search."""
    depth = max(fusion.prefetch, request.limit)
    queries: list[Query] = []
    for text, vector in zip(request.queries, vectors, strict=True):
        if fusion.dense_weight:
            queries.append(Query(dense=vector, filter=target.filter, limit=depth))
        if fusion.sparse_weight:
            sparse = encode_sparse_query(target.spec.sparse, text)
            queries.append(Query(sparse=sparse, filter=target.filter, limit=depth))
    answers = iter(get_store().search_many([(target.collection, query) for query in queries]))
    return [
        _fuse_dense_and_sparse(
            target,
            next(answers) if fusion.dense_weight else [],
            next(answers) if fusion.sparse_weight else [],
            fusion,
        )
        for _ in request.queries
    ]


def _fuse_dense_and_sparse(
    target: Target,
    dense: Sequence[ScoredPoint],
    sparse: Sequence[ScoredPoint],
    fusion: RankFusion,
) -> _QueryRanks:
    """Fuse both rankings of one query and keep the best point of each chunk."""
    points = {point.id.int: point for point in (*dense, *sparse)}
    scored = reciprocal_rank_fusion(
        [[point.id.int for point in ranking] for ranking in (dense, sparse)],
        weights=[fusion.dense_weight, fusion.sparse_weight],
        k=fusion.k,
    )
    best: dict[str, Candidate] = {}
    for id, score in scored:
        point = points[id]
        passage_id = get_passage_id(point.id, point.payload)
        if passage_id not in best:
            best[passage_id] = Candidate(target, ScoredPoint(point.id, score, point.payload))
    return _QueryRanks(_map_ranks_by_id(dense), _map_ranks_by_id(sparse), list(best.values()))


def _map_ranks_by_id(ranking: Sequence[ScoredPoint]) -> dict[UUID, tuple[int, float]]:
    return {point.id: (rank, point.score) for rank, point in enumerate(ranking, start=1)}


def _select_served(
    request: MultiQueryRequest, checks: HitChecks, rankings: Sequence[Sequence[Candidate]]
) -> list[list[Candidate]]:
    """Select the first ``limit`` candidates of each ranking that can be served."""
    depth = request.limit + _EXTRA_HITS
    while True:
        checks.check(found for ranking in rankings for found in ranking[:depth])
        served = [
            [found for found in ranking[:depth] if checks.is_served(found, request.stale)]
            for ranking in rankings
        ]
        if all(
            len(kept) >= request.limit or depth >= len(ranking)
            for kept, ranking in zip(served, rankings, strict=True)
        ):
            return [kept[: request.limit] for kept in served]
        depth *= 2


def _explain_hits(
    candidate: Candidate, query_ranks: _QueryRanks, fusion: RankFusion
) -> Explanation:
    return Explanation(
        dense=_make_share(query_ranks.dense.get(candidate.point.id), fusion.dense_weight, fusion),
        sparse=_make_share(
            query_ranks.sparse.get(candidate.point.id), fusion.sparse_weight, fusion
        ),
        fusion=fusion,
    )


def _make_share(
    rank_and_score: tuple[int, float] | None, weight: float, fusion: RankFusion
) -> ScoreShare | None:
    if rank_and_score is None:
        return None
    rank, score = rank_and_score
    return ScoreShare(rank, score, weight / (fusion.k + rank))


def _compute_similarities(
    target: Target,
    vectors: DenseVector,
    query_ranks: Sequence[_QueryRanks],
    served: Sequence[Sequence[Candidate]],
) -> list[dict[PointKey, float]]:
    """For each query, the cosine of its hits. Most are scores of the dense ranking; for hits that
    only the sparse ranking found, the vectors are read from the store in one request."""
    unmeasured_ids = {
        each.point.id
        for standings, ranking in zip(query_ranks, served, strict=True)
        for each in ranking
        if each.point.id not in standings.dense
    }
    stored = get_store().retrieve(target.collection, sorted(unmeasured_ids), with_vectors=True)
    similarities: list[dict[PointKey, float]] = []
    for vector, standings, ranking in zip(vectors, query_ranks, served, strict=True):
        similarity_by_key: dict[PointKey, float] = {}
        for each in ranking:
            if each.point.id in standings.dense:
                similarity_by_key[each.key] = standings.dense[each.point.id][1]
            elif (point := stored.get(each.point.id)) is not None and point.dense is not None:
                similarity_by_key[each.key] = _cosine(vector, point.dense)
        similarities.append(similarity_by_key)
    return similarities


def _cosine(one: DenseVector, other: DenseVector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
