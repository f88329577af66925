"""Searches one kind of node and returns one ranking."""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from access.grants import Grant
from indexing.spec import IndexSpec
from indexing.stores import Payload
from retrieval.explanation import Explanation
from retrieval.search.hit_checks import DroppedPoints, HitChecks, Verdict
from retrieval.search.ranking import explain_candidates, fetch_points
from retrieval.search.request import SearchRequest, check_request
from retrieval.search.similarity import measure_similarities
from retrieval.search.targets import (
    Candidate,
    PointKey,
    Target,
    find_builds,
    get_passage_id,
    get_score_kind,
    make_targets,
    merge_candidates,
    set_query_vectors,
    wait_for_revision,
)

_EXTRA_POINTS = 2  # points fetched beyond the page: a dropped hit seldom costs a second request
MIN_REFILL_POINTS = 100  # points in the first refill; each later refill doubles
_MAX_FETCHED = 10_000  # points of one query to the store
_MAX_REFILLS = 8  # reaches over 20,000 points, enough unless nearly every hit is dropped


@dataclass(frozen=True, slots=True)
class Hit:
    node_id: UUID
    index: str
    build_id: int
    score: float
    payload: Payload
    verdict: Verdict | None  # None: not verified
    spec: IndexSpec
    explanation: Explanation | None = None
    similarity: float | None = None  # cosine, if it was requested

    @property
    def passage_id(self) -> str:
        """The chunk's id: the same for all questions of one chunk."""
        return get_passage_id(self.node_id, self.payload)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """``builds``: index name -> number of the build that was searched, None if none is live."""

    builds: dict[str, int | None]
    score_kind: str
    hits: list[Hit]
    dropped: DroppedPoints
    stale_ids: list[UUID]  # the caller enqueues planning for them
    took_ms: dict[str, float]  # by stage
    notes: list[str]  # what the answer lacks


def search_nodes(
    request: SearchRequest,
    kinds: Sequence[str],
    grant: Grant,
    *,
    keep_distinct: Callable[[Sequence[Candidate]], list[Candidate]] = list,
    points_per_hit: int = 1,
) -> SearchAnswer:
    """Rank the nodes of these kinds, best first, ties by node id. Of those that can be served,
    the ones that ``keep_distinct`` keeps are returned; it decides by the candidates before each.

    Pages of results do not overlap: ``offset`` counts served hits, after failed checks are dropped.

    Raises:
        InvalidInput: names the parameter; also if an index holds no such nodes.
        UnknownIndex: lists the known names.
        NotYetIndexed: ``min_revision`` was not reached in time.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    stopwatch = Stopwatch()
    check_request(request)
    if not grant.sees_all_documents:  # the check drops what the grant excludes
        request = replace(request, verify=True)
    builds = find_builds(request.indexes, grant)
    targets = make_targets(builds.values(), kinds, request.filter)
    wait_for_revision(targets, request.min_revision)
    stopwatch.start()
    notes = set_query_vectors(request.query, request.mode, targets)
    for target in targets:
        target.needs_ranks |= request.explain
    stopwatch.lap("embed")

    wanted_count = request.offset + request.limit
    checks, ranking = _rank_servable(
        request, targets, wanted_count, keep_distinct, points_per_hit, stopwatch
    )
    if checks.orphans:
        # Most likely points were replaced between reading store and ledger. Search once more.
        for target in targets:
            target.reset()
        checks, ranking = _rank_servable(
            request, targets, wanted_count, keep_distinct, points_per_hit, stopwatch
        )
    page = ranking[request.offset : wanted_count]
    explanations: dict[PointKey, Explanation] = {}
    if request.explain:
        explanations = explain_candidates(request.mode, page)
    hits = [make_hit(found, checks, explanations) for found in page]
    if request.with_similarity:
        [similarities] = measure_similarities([page])
        hits = [
            replace(hit, similarity=similarities.get(found.key))
            for hit, found in zip(hits, page, strict=True)
        ]
        stopwatch.lap("search")
    return SearchAnswer(
        builds={name: build.number if build else None for name, build in builds.items()},
        score_kind=get_score_kind(request.mode, targets),
        hits=hits,
        dropped=checks.dropped,
        stale_ids=sorted(checks.stale_ids),
        took_ms=stopwatch.took_ms(),
        notes=notes,
    )


def _rank_servable(
    request: SearchRequest,
    targets: Sequence[Target],
    wanted_count: int,
    keep_distinct: Callable[[Sequence[Candidate]], list[Candidate]],
    points_per_hit: int,
    stopwatch: "Stopwatch",
) -> tuple[HitChecks, list[Candidate]]:
    """Rank the candidates that can be served. The first ``wanted_count`` ranks are final."""
    checks = HitChecks()
    ranking: list[Candidate] = []
    count = wanted_count * points_per_hit + _EXTRA_POINTS
    for _ in range(1 + _MAX_REFILLS):
        fetch_points(targets, request.mode, count, min_score=request.min_score)
        ranking = merge_candidates(targets)
        stopwatch.lap("search")
        if request.verify:
            checks.check(ranking)
            ranking = [found for found in ranking if checks.is_served(found, request.stale)]
            stopwatch.lap("verify")
        ranking = keep_distinct(ranking)
        if count_final(ranking, targets) >= wanted_count or not any(t.has_more for t in targets):
            break
        count = min(max(2 * count, MIN_REFILL_POINTS), _MAX_FETCHED)
    return checks, ranking


def make_hit(
    candidate: Candidate, checks: HitChecks, explanations: Mapping[PointKey, Explanation]
) -> Hit:
    key = candidate.key
    return Hit(
        node_id=candidate.point.id,
        index=candidate.target.index,
        build_id=candidate.target.build_id,
        score=candidate.point.score,
        payload=candidate.point.payload,
        verdict=checks.verdicts.get(key),
        spec=candidate.target.spec,
        explanation=explanations.get(key),
    )


def keep_best_of_each(
    ranking: Sequence[Candidate], group_key: Callable[[Candidate], Hashable]
) -> list[Candidate]:
    best: dict[Hashable, Candidate] = {}
    for found in ranking:
        best.setdefault(group_key(found), found)
    return list(best.values())


def drop_repeated_chunks(ranking: Sequence[Candidate]) -> list[Candidate]:
    """Drop each chunk that overlaps a better one of the same source, if different strategies made
    the two: it repeats text."""
    distinct: list[Candidate] = []
    kept_by_source: defaultdict[str, list[Payload]] = defaultdict(list)  # by source
    for found in ranking:
        payload = found.point.payload
        if len(found.target.spec.chunks.strategies) > 1:
            kept = kept_by_source[payload["source_id"]]
            if any(_repeats_text(payload, other) for other in kept):
                continue
            kept.append(payload)
        distinct.append(found)
    return distinct


def _repeats_text(payload: Payload, other: Payload) -> bool:
    is_overlapping = (
        payload["start_offset"] < other["end_offset"]
        and other["start_offset"] < payload["end_offset"]
    )
    return is_overlapping and payload["strategy"] != other["strategy"]


def count_final(ranking: Sequence[Candidate], targets: Sequence[Target]) -> int:
    """Count the leading candidates that no unfetched point can outrank."""
    last_sort_keys = [
        Candidate(target, target.points[-1]).sort_key
        for target in targets
        if target.has_more and target.points
    ]
    if not last_sort_keys:
        return len(ranking)
    cutoff = min(last_sort_keys)
    return sum(found.sort_key <= cutoff for found in ranking)


class Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self._started_at = self._lap_started_at = time.perf_counter()
        self._ms_by_stage = {"embed": 0.0, "search": 0.0, "verify": 0.0}

    def start(self) -> None:
        """Start the first lap; the time before it counts in the total only."""
        self._lap_started_at = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last lap to ``stage``."""
        now = time.perf_counter()
        self._ms_by_stage[stage] += (now - self._lap_started_at) * 1_000
        self._lap_started_at = now

    def took_ms(self) -> dict[str, float]:
        took = {**self._ms_by_stage, "total": (time.perf_counter() - self._started_at) * 1_000}
        return {stage: round(milliseconds, 3) for stage, milliseconds in took.items()}
