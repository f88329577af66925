"""Searches several queries at once, with a checked ranking for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from access.grants import Grant
from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from indexing.stores import encode_sparse_query
from retrieval.ledger import LiveBuild
from retrieval.search.flat import Hit, Stopwatch, drop_repeated_chunks, make_hit
from retrieval.search.hit_checks import DroppedPoints, HitChecks
from retrieval.search.ranking import explain_candidates, fetch_points
from retrieval.search.request import Mode, StaleHitPolicy, check_query
from retrieval.search.similarity import measure_similarities
from retrieval.search.targets import (
    Candidate,
    Target,
    find_builds,
    get_passage_id,
    make_targets,
    parse_recipe,
)
from retrieval.search.words_only import embed_if_available

MAX_QUERIES = 10
MAX_CANDIDATES = 1_000  # hits for each query
_EXTRA_HITS = 2  # checked beyond ``limit``, so that a dropped hit seldom costs a second check


@dataclass(frozen=True, slots=True)
class MultiQueryRequest:
    """``limit`` counts the hits of each query. ``filter`` has the API's syntax."""

    index: str | IndexBuild
    queries: Sequence[str]
    limit: int = 10
    filter: Mapping[str, Any] | None = None
    stale: StaleHitPolicy = StaleHitPolicy.FLAG


@dataclass(frozen=True, slots=True)
class HitWithSimilarity:
    """``hit.score`` fuses the hit's dense and sparse rank for this query with the spec's weights.
    ``similarity`` is the cosine to this query, None if the store no longer has its vector."""

    hit: Hit
    similarity: float | None


@dataclass(frozen=True, slots=True)
class MultiQueryAnswer:
    """``rankings``: one for each query, in their order, best first."""

    builds: dict[str, int | None]
    rankings: list[list[HitWithSimilarity]]
    dropped: DroppedPoints
    stale_ids: list[UUID]  # the caller enqueues planning for these
    took_ms: dict[str, float]  # by stage
    notes: list[str]  # what the answer lacks


def search_by_queries(request: MultiQueryRequest, grant: Grant) -> MultiQueryAnswer:
    """Find the best passages for each of several queries.

    Passages are chunks, or the best question of each chunk if an index embeds no chunks.

    The queries are embedded in one batch and searched in one request to the store. Every hit has
    its explanation.

    Raises:
        InvalidInput: names the parameter.
        UnknownIndex: lists the known names.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    stopwatch = Stopwatch()
    _check_request(request)
    builds = find_builds([request.index], grant)
    [build] = builds.values()
    checks = HitChecks()
    rankings: list[list[HitWithSimilarity]] = [[] for _ in request.queries]
    notes: list[str] = []
    if build is not None:
        kinds = [choose_passage_kind(build)]
        targets = [make_targets([build], kinds, request.filter)[0] for _ in request.queries]
        stopwatch.start()
        notes = _set_query_vectors(request, targets)
        stopwatch.lap("embed")
        checks, rankings = _rank_queries(request, targets, stopwatch)
        if checks.orphans:
            # Most likely points were replaced between reading store and ledger. Search once more.
            for target in targets:
                target.reset()
            checks, rankings = _rank_queries(request, targets, stopwatch)
    return MultiQueryAnswer(
        builds={name: found.number if found else None for name, found in builds.items()},
        rankings=rankings,
        dropped=checks.dropped,
        stale_ids=sorted(checks.stale_ids),
        took_ms=stopwatch.took_ms(),
        notes=notes,
    )


def _check_request(request: MultiQueryRequest) -> None:
    if not 1 <= len(request.queries) <= MAX_QUERIES:
        raise InvalidInput(f"Give 1 to {MAX_QUERIES} queries.", field="queries")
    for query in request.queries:
        check_query([request.index], query)
    if not 1 <= request.limit <= MAX_CANDIDATES:
        raise InvalidInput(f"limit must be between 1 and {MAX_CANDIDATES}.", field="limit")


def choose_passage_kind(build: LiveBuild) -> str:
    """The kind of node by which passages of this build are found."""
    kinds = parse_recipe(build.recipe).kinds
    return "question" if "chunk" not in kinds and "question" in kinds else "chunk"


def _set_query_vectors(request: MultiQueryRequest, targets: Sequence[Target]) -> list[str]:
    """Set each query's vectors on its target; embeds the queries in one batch. Returns a note if
    they are searched by words only."""
    spec = targets[0].spec
    vectors, notes = embed_if_available(
        targets[0].embedding, lambda embedder: embedder.embed_queries(request.queries)
    )
    for row, (target, text) in enumerate(zip(targets, request.queries, strict=True)):
        target.dense = None if vectors is None else vectors[row]
        target.sparse = encode_sparse_query(spec.sparse, text)
        target.depth, target.needs_ranks = request.limit, True
    return notes


def _rank_queries(
    request: MultiQueryRequest, targets: Sequence[Target], stopwatch: Stopwatch
) -> tuple[HitChecks, list[list[HitWithSimilarity]]]:
    """Rank the passages of each query that can be served, ``limit`` of each."""
    checks = HitChecks()
    unfilled, count = list(targets), request.limit + _EXTRA_HITS
    while True:
        fetch_points(unfilled, Mode.HYBRID, count)
        rankings = [_keep_best_per_passage(target) for target in targets]
        stopwatch.lap("search")
        checks.check(found for ranking in rankings for found in ranking)
        served = [
            [found for found in ranking if checks.is_served(found, request.stale)][: request.limit]
            for ranking in rankings
        ]
        stopwatch.lap("verify")
        unfilled = [
            target
            for target, hits in zip(targets, served, strict=True)
            if len(hits) < request.limit and target.has_more
        ]
        if not unfilled:
            break
        count *= 2
    similarities = measure_similarities(served)
    stopwatch.lap("search")
    return checks, [
        [
            HitWithSimilarity(
                make_hit(found, checks, explanations), similarity_by_key.get(found.key)
            )
            for found in hits
        ]
        for hits, explanations, similarity_by_key in zip(
            served,
            (explain_candidates(Mode.HYBRID, hits) for hits in served),
            similarities,
            strict=True,
        )
    ]


def _keep_best_per_passage(target: Target) -> list[Candidate]:
    best: dict[str, Candidate] = {}
    for point in target.points:
        best.setdefault(get_passage_id(point.id, point.payload), Candidate(target, point))
    return drop_repeated_chunks(list(best.values()))
