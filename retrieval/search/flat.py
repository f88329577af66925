"""Searches of one kind of node, answered as one ranking."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from indexing.spec import IndexSpec
from indexing.stores import Payload, get_store
from retrieval.event_loop import run_in_thread
from retrieval.explanation import Explanation
from retrieval.search.hit_checks import DroppedPoints, HitChecks, Verdict
from retrieval.search.request import SCORE_KINDS, Mode, SearchRequest, SummaryType, check_request
from retrieval.search.targets import (
    Candidate,
    Key,
    Target,
    encode_query,
    explain_scores,
    find_builds,
    get_passage_id,
    make_targets,
    merge_candidates,
    wait_for_revision,
)

_EXTRA_POINTS = 2  # fetched beyond the page: the odd hit that is dropped costs no second request
_REFILL_FACTOR = 100  # fetched where the margin did not do; twice as many each time after
_MAX_FETCHED = 10_000  # points: the database takes 32,766 parameters a query
_MAX_REFILLS = 8  # over 20,000 points: no page is so far away, unless nearly all is unprovable
_QUESTIONS_PER_CHUNK = 3  # fetched for each chunk that is wanted: its questions are much alike


@dataclass(frozen=True, slots=True)
class Hit:
    node_id: UUID
    index: str
    score: float
    payload: Payload
    verdict: Verdict | None  # None: not asked for
    spec: IndexSpec
    explanation: Explanation | None = None

    @property
    def passage_id(self) -> str:
        """The same for all questions of one chunk, for each stands for it."""
        return get_passage_id(self.node_id, self.payload)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """``builds``: index name -> number of the build that answered, None where none is live."""

    builds: dict[str, int | None]
    score_kind: str
    hits: list[Hit]
    dropped: DroppedPoints
    stale_artifact_ids: list[UUID]  # for the caller to have indexed again
    took_ms: dict[str, float]  # by stage


def search_chunks(request: SearchRequest) -> SearchAnswer:
    """The best chunks for a query, best first; ties by node id.

    Pages do not overlap: ``offset`` counts hits as served, after the unprovable are dropped.

    Raises:
        InvalidInput: naming the parameter; also where indexes do not share an embedding model,
            or one of them holds no such nodes.
        UnknownIndex: with the names there are.
        NotYetIndexed: ``min_revision`` was not reached in time.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    return _search_kinds(request, ("chunk",))


async def asearch_chunks(request: SearchRequest) -> SearchAnswer:
    """``search_chunks`` off the event loop."""
    return await run_in_thread(search_chunks, request)


def search_artifacts(request: SearchRequest) -> SearchAnswer:
    """The best chunk of each artifact; ``limit`` and ``offset`` count artifacts. Otherwise as
    ``search_chunks``."""
    return _search_kinds(request, ("chunk",), group=_artifact_key)


def search_compounds(request: SearchRequest) -> SearchAnswer:
    """The chemical structure of each artifact nearest to the query, a SMILES; ``limit`` and
    ``offset`` count artifacts, and the mode is dense. Otherwise as ``search_chunks``."""
    return _search_kinds(replace(request, mode=Mode.DENSE), ("compound",), group=_artifact_key)


def search_image_nodes(request: SearchRequest) -> SearchAnswer:
    """The pictures nearest to the query in the space they share with words; the mode is dense.
    Otherwise as ``search_chunks``."""
    return _search_kinds(replace(request, mode=Mode.DENSE), ("image",))


def search_summaries(request: SearchRequest, type: SummaryType = SummaryType.ALL) -> SearchAnswer:
    """The best summaries, of pages, artifacts or both. Otherwise as ``search_chunks``."""
    return _search_kinds(request, type.kinds)


def search_questions(request: SearchRequest) -> SearchAnswer:
    """The best question of each chunk; ``limit`` and ``offset`` count chunks. Otherwise as
    ``search_chunks``."""
    return _search_kinds(
        request,
        ("question",),
        group=lambda found: (found.target.build_id, found.point.payload.get("chunk_id")),
        points_per_hit=_QUESTIONS_PER_CHUNK,
    )


def _artifact_key(found: Candidate) -> Hashable:
    return found.target.build_id, found.point.payload.get("artifact_id")


def _search_kinds(
    request: SearchRequest,
    kinds: Sequence[str],
    *,
    group: Callable[[Candidate], Hashable] = lambda found: found.key,
    points_per_hit: int = 1,
) -> SearchAnswer:
    """Of points of one ``group`` the best that can be served stands for all."""
    watch = Stopwatch()
    check_request(request)
    builds = find_builds(request.indexes)
    targets = make_targets(builds.values(), kinds, request.filter)
    wait_for_revision(targets, request.min_revision)
    watch.start()
    encode_query(request.query, request.mode, targets)
    watch.lap("embed")

    wanted = request.offset + request.limit
    checks, ranking = _rank_servable(request, targets, wanted, group, points_per_hit, watch)
    if checks.orphans:
        # Replaced between our looks into store and ledger, most likely: what is there now?
        for target in targets:
            target.reset()
        checks, ranking = _rank_servable(request, targets, wanted, group, points_per_hit, watch)
    page = ranking[request.offset : wanted]
    explanations: dict[Key, Explanation] = {}
    if request.explain:
        explanations = explain_scores(request.mode, page)
        watch.lap("search")
    return SearchAnswer(
        builds={name: build.number if build else None for name, build in builds.items()},
        score_kind=SCORE_KINDS[request.mode],
        hits=[make_hit(found, checks, explanations) for found in page],
        dropped=checks.dropped,
        stale_artifact_ids=sorted(checks.stale_artifact_ids),
        took_ms=watch.took_ms(),
    )


def _rank_servable(
    request: SearchRequest,
    targets: Sequence[Target],
    wanted: int,
    group: Callable[[Candidate], Hashable],
    points_per_hit: int,
    watch: "Stopwatch",
) -> tuple[HitChecks, list[Candidate]]:
    """What can be served, best first; as far as it is ``wanted``, for certain."""
    checks = HitChecks()
    ranking: list[Candidate] = []
    count = wanted * points_per_hit + _EXTRA_POINTS
    for _ in range(1 + _MAX_REFILLS):
        for target in targets:
            if target.has_more:
                query = target.query(request.mode, count, request.min_score)
                target.add_points(get_store().search(target.collection, query), count)
        ranking = merge_candidates(targets)
        watch.lap("search")
        if request.verify:
            checks.check(ranking)
            ranking = [found for found in ranking if checks.is_served(found, request.stale)]
            watch.lap("verify")
        ranking = _keep_best_per_group(ranking, group)
        if _count_certain(ranking, targets) >= wanted or not any(t.has_more for t in targets):
            break
        count = min(max(2 * count, _REFILL_FACTOR), _MAX_FETCHED)
    return checks, ranking


def make_hit(found: Candidate, checks: HitChecks, explanations: Mapping[Key, Explanation]) -> Hit:
    key = found.key
    return Hit(
        node_id=found.point.id,
        index=found.target.index,
        score=found.point.score,
        payload=found.point.payload,
        verdict=checks.verdicts.get(key),
        spec=found.target.spec,
        explanation=explanations.get(key),
    )


def _keep_best_per_group(
    ranking: Sequence[Candidate], group: Callable[[Candidate], Hashable]
) -> list[Candidate]:
    best: dict[Hashable, Candidate] = {}
    for found in ranking:
        best.setdefault(group(found), found)
    return list(best.values())


def _count_certain(ranking: Sequence[Candidate], targets: Sequence[Target]) -> int:
    """How many of the ranking nothing still unfetched could come before."""
    ends = [
        Candidate(target, target.points[-1]).sort_key
        for target in targets
        if target.has_more and target.points
    ]
    if not ends:
        return len(ranking)
    frontier = min(ends)
    return sum(found.sort_key <= frontier for found in ranking)


class Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self._began = self._clock = time.perf_counter()
        self._took = {"embed": 0.0, "search": 0.0, "verify": 0.0}

    def start(self) -> None:
        """Count what went before to no stage."""
        self._clock = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Count what went by since the last lap to ``stage``."""
        now = time.perf_counter()
        self._took[stage] += (now - self._clock) * 1_000
        self._clock = now

    def took_ms(self) -> dict[str, float]:
        took = {**self._took, "total": (time.perf_counter() - self._began) * 1_000}
        return {stage: round(milliseconds, 3) for stage, milliseconds in took.items()}
