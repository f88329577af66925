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
from retrieval.search.request import StaleHits, check_query
from retrieval.search.targets import (
    Candidate,
    Key,
    Target,
    find_builds,
    get_passage_id,
    make_targets,
    parse_recipe,
)

MAX_QUERIES = 10
MAX_CANDIDATES = 1_000  # hits for each query
_EXTRA_HITS = 2  # checked beyond what is wanted: the odd hit that is dropped costs no second look


@dataclass(frozen=True, slots=True)
class QueriesRequest:
    """``limit`` counts the hits of each query. ``filter`` is as callers write it."""

    index: str | IndexBuild
    queries: Sequence[str]
    limit: int = 10
    filter: Mapping[str, Any] | None = None
    stale: StaleHits = StaleHits.FLAG


@dataclass(frozen=True, slots=True)
class HitWithSimilarity:
    """``hit.score`` is its reciprocal ranks among this query's vectors and words, fused as the
    spec says; ``similarity`` the cosine to this query, None where its vector is gone."""

    hit: Hit
    similarity: float | None


@dataclass(frozen=True, slots=True)
class QueriesAnswer:
    """``rankings``: one for each query, in their order, best first."""

    builds: dict[str, int | None]
    rankings: list[list[HitWithSimilarity]]
    dropped: DroppedPoints
    stale_artifact_ids: list[UUID]  # for the caller to have indexed again
    took_ms: dict[str, float]  # by stage


@dataclass(frozen=True, slots=True)
class _QueryRanks:
    """What one query found: ranks from 1 and scores in either ranking, and all of it fused."""

    dense: dict[UUID, tuple[int, float]]
    sparse: dict[UUID, tuple[int, float]]
    fused: list[Candidate]  # best first


def search_queries(request: QueriesRequest) -> QueriesAnswer:
    """The best passages for each of several queries: chunks, or where an index embeds none the
    questions they answer, the best one of each chunk.

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
        [target] = make_targets([build], [_passage_kind(build)], request.filter)
        watch.start()
        vectors = embedding.get_embedder(target.spec.embedding).embed_queries(request.queries)
        watch.lap("embed")
        checks, rankings = _rank_queries(request, target, vectors, watch)
        if checks.orphans:
            # Replaced between our looks into store and ledger, most likely: what is there now?
            checks, rankings = _rank_queries(request, target, vectors, watch)
    return QueriesAnswer(
        builds={name: found.number if found else None for name, found in builds.items()},
        rankings=rankings,
        dropped=checks.dropped,
        stale_artifact_ids=sorted(checks.stale_artifact_ids),
        took_ms=watch.took_ms(),
    )


def _check_request(request: QueriesRequest) -> None:
    if not 1 <= len(request.queries) <= MAX_QUERIES:
        raise InvalidInput(f"Give 1 to {MAX_QUERIES} queries.", field="queries")
    for query in request.queries:
        check_query([request.index], query)
    if not 1 <= request.limit <= MAX_CANDIDATES:
        raise InvalidInput(f"limit lies between 1 and {MAX_CANDIDATES}.", field="limit")


def _passage_kind(build: LiveBuild) -> str:
    kinds = parse_recipe(build.recipe).kinds
    return "question" if "chunk" not in kinds and "question" in kinds else "chunk"


def _rank_queries(
    request: QueriesRequest, target: Target, vectors: DenseVector, watch: Stopwatch
) -> tuple[HitChecks, list[list[HitWithSimilarity]]]:
    fusion = target.fusion
    found = _search_both_vectors(request, target, vectors, fusion)
    watch.lap("search")
    checks = HitChecks()
    served = _select_served(request, checks, [standings.fused for standings in found])
    watch.lap("verify")
    explanations = [
        {each.key: _explain_hits(each, standings, fusion) for each in ranking}
        for standings, ranking in zip(found, served, strict=True)
    ]
    similarities = _compute_similarities(target, vectors, found, served)
    watch.lap("search")
    rankings = [
        [
            HitWithSimilarity(make_hit(each, checks, explained), similarities[number].get(each.key))
            for each in ranking
        ]
        for number, (ranking, explained) in enumerate(zip(served, explanations, strict=True))
    ]
    return checks, rankings


def _search_both_vectors(
    request: QueriesRequest, target: Target, vectors: DenseVector, fusion: RankFusion
) -> list[_QueryRanks]:
    """Both rankings of each query, as deep as a hybrid search of as many hits goes."""
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
        _fuse_queries(
            target,
            next(answers) if fusion.dense_weight else [],
            next(answers) if fusion.sparse_weight else [],
            fusion,
        )
        for _ in request.queries
    ]


def _fuse_queries(
    target: Target,
    dense: Sequence[ScoredPoint],
    sparse: Sequence[ScoredPoint],
    fusion: RankFusion,
) -> _QueryRanks:
    """Of questions asked of one chunk, the best stands for it."""
    points = {point.id.int: point for point in (*dense, *sparse)}
    scored = reciprocal_rank_fusion(
        [[point.id.int for point in ranking] for ranking in (dense, sparse)],
        weights=[fusion.dense_weight, fusion.sparse_weight],
        k=fusion.k,
    )
    best: dict[str, Candidate] = {}
    for id, score in scored:
        point = points[id]
        name = get_passage_id(point.id, point.payload)
        if name not in best:
            best[name] = Candidate(target, ScoredPoint(point.id, score, point.payload))
    return _QueryRanks(_rank_by_key(dense), _rank_by_key(sparse), list(best.values()))


def _rank_by_key(ranking: Sequence[ScoredPoint]) -> dict[UUID, tuple[int, float]]:
    return {point.id: (rank, point.score) for rank, point in enumerate(ranking, start=1)}


def _select_served(
    request: QueriesRequest, checks: HitChecks, rankings: Sequence[Sequence[Candidate]]
) -> list[list[Candidate]]:
    """Of each ranking what can be served, ``limit`` at most."""
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


def _explain_hits(found: Candidate, standings: _QueryRanks, fusion: RankFusion) -> Explanation:
    return Explanation(
        dense=_make_share(standings.dense.get(found.point.id), fusion.dense_weight, fusion),
        sparse=_make_share(standings.sparse.get(found.point.id), fusion.sparse_weight, fusion),
        fusion=fusion,
    )


def _make_share(
    standing: tuple[int, float] | None, weight: float, fusion: RankFusion
) -> ScoreShare | None:
    if standing is None:
        return None
    rank, score = standing
    return ScoreShare(rank, score, weight / (fusion.k + rank))


def _compute_similarities(
    target: Target,
    vectors: DenseVector,
    found: Sequence[_QueryRanks],
    served: Sequence[Sequence[Candidate]],
) -> list[dict[Key, float]]:
    """For each query, the cosine of its hits. The dense ranking told most of them; the vectors
    of those that words alone found are read from the store, all in one request."""
    unmeasured = {
        each.point.id
        for standings, ranking in zip(found, served, strict=True)
        for each in ranking
        if each.point.id not in standings.dense
    }
    stored = get_store().retrieve(target.collection, sorted(unmeasured), with_vectors=True)
    similarities: list[dict[Key, float]] = []
    for vector, standings, ranking in zip(vectors, found, served, strict=True):
        measured: dict[Key, float] = {}
        for each in ranking:
            if each.point.id in standings.dense:
                measured[each.key] = standings.dense[each.point.id][1]
            elif (point := stored.get(each.point.id)) is not None and point.dense is not None:
                measured[each.key] = _cosine(vector, point.dense)
        similarities.append(measured)
    return similarities


def _cosine(one: DenseVector, other: DenseVector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
