"""Hierarchical search: summaries and chunks at once, grouped by artifact and page."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from indexing.stores import get_store
from retrieval.explanation import Explanation
from retrieval.ledger import LiveBuild
from retrieval.search.flat import Hit, Stopwatch, make_hit
from retrieval.search.hit_checks import DroppedPoints, HitChecks
from retrieval.search.request import SCORE_KINDS, Mode, StaleHits, SummaryType, check_query
from retrieval.search.targets import (
    Candidate,
    Key,
    Target,
    encode_query,
    explain_scores,
    find_builds,
    make_targets,
    merge_candidates,
    parse_recipe,
    wait_for_revision,
)

MAX_ARTIFACTS = 50
CANDIDATES = 50  # summaries, and chunks
CHUNKS_PER_PAGE = 3


@dataclass(frozen=True, slots=True)
class HierarchicalRequest:
    """As ``SearchRequest``; ``limit`` counts artifacts."""

    indexes: Sequence[str | IndexBuild]
    query: str
    mode: Mode = Mode.HYBRID
    limit: int = 10
    filter: Mapping[str, Any] | None = None
    verify: bool = True
    explain: bool = False
    stale: StaleHits = StaleHits.FLAG
    min_revision: int | None = None


@dataclass(slots=True)
class PageGroup:
    page_id: str
    page_index: int | None
    score: float
    support: float = 0.0  # the scores of all its hits together
    summary: Hit | None = None
    chunks: list[Hit] = field(default_factory=list)  # best first


@dataclass(slots=True)
class ArtifactGroup:
    """An artifact's score is its best hit's, a page's likewise. Between equals, of which there
    are many among reciprocal ranks, stands first what has more hits to its name.

    Hits of both collections are compared as they are: fused scores are reciprocal ranks by the
    same k and weights on either side, so that the best chunk counts as much as the best
    summary, and cosines come from one model. BM25 scores of two collections compare but roughly.
    """

    artifact_id: str
    title: str
    index: str
    score: float
    support: float = 0.0  # the scores of all its hits together
    summary: Hit | None = None
    pages: list[PageGroup] = field(default_factory=list)  # best first


@dataclass(frozen=True, slots=True)
class HierarchicalAnswer:
    builds: dict[str, int | None]
    score_kind: str
    artifacts: list[ArtifactGroup]  # best first
    dropped: DroppedPoints
    stale_artifact_ids: list[UUID]  # for the caller to have indexed again
    took_ms: dict[str, float]  # by stage


def search_hierarchical(request: HierarchicalRequest) -> HierarchicalAnswer:
    """The best artifacts for a query with their best pages, and up to three chunks of each.

    They are those the best 50 summaries and the best 50 chunks belong to, after the unprovable
    are dropped. An artifact or page is there with its summary, its chunks, or both.

    Raises:
        InvalidInput: naming the parameter; also where indexes do not share an embedding model,
            or one of them lacks summaries or chunks.
        UnknownIndex: with the names there are.
        NotYetIndexed: ``min_revision`` was not reached in time.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    watch = Stopwatch()
    check_query(request.indexes, request.query)
    if not 1 <= request.limit <= MAX_ARTIFACTS:
        raise InvalidInput(f"limit lies between 1 and {MAX_ARTIFACTS}.", field="limit")
    builds = find_builds(request.indexes)
    _require_summaries_and_chunks(builds.values())
    summaries = make_targets(builds.values(), SummaryType.ALL.kinds, request.filter)
    chunks = make_targets(builds.values(), ["chunk"], request.filter)
    targets = [*summaries, *chunks]
    wait_for_revision(targets, request.min_revision)
    watch.start()
    encode_query(request.query, request.mode, targets)
    watch.lap("embed")

    checks, found = _find_candidates(request, summaries, chunks, watch)
    if checks.orphans:
        # Replaced between our looks into store and ledger, most likely: what is there now?
        for target in targets:
            target.reset()
        checks, found = _find_candidates(request, summaries, chunks, watch)
    explanations: dict[Key, Explanation] = {}
    if request.explain:
        explanations = explain_scores(request.mode, found)
        watch.lap("search")
    return HierarchicalAnswer(
        builds={name: build.number if build else None for name, build in builds.items()},
        score_kind=SCORE_KINDS[request.mode],
        artifacts=group_by_artifact(found, checks, explanations),
        dropped=checks.dropped,
        stale_artifact_ids=sorted(checks.stale_artifact_ids),
        took_ms=watch.took_ms(),
    )


def _find_candidates(
    request: HierarchicalRequest,
    summaries: Sequence[Target],
    chunks: Sequence[Target],
    watch: Stopwatch,
) -> tuple[HitChecks, list[Candidate]]:
    """The hits that are shown, those of either collection best first."""
    targets = [*summaries, *chunks]
    answers = get_store().search_many(
        [(target.collection, target.query(request.mode, CANDIDATES)) for target in targets]
    )
    for target, points in zip(targets, answers, strict=True):
        target.add_points(points, CANDIDATES)
    found = merge_candidates(summaries)[:CANDIDATES] + merge_candidates(chunks)[:CANDIDATES]
    watch.lap("search")

    checks = HitChecks()
    candidates, found = found, _keep_best_artifacts(found, request.limit)
    while request.verify:
        checks.check(found)
        unfit = {each.key for each in found if not checks.is_served(each, request.stale)}
        if not unfit:
            break
        # What comes up in their place is looked at in the next turn.
        candidates = [each for each in candidates if each.key not in unfit]
        found = _keep_best_artifacts(candidates, request.limit)
    watch.lap("verify")
    return checks, found


def _require_summaries_and_chunks(builds: Iterable[LiveBuild | None]) -> None:
    for build in builds:
        if build is None:
            continue
        kinds = parse_recipe(build.recipe).kinds
        if not _has_summaries_and_chunks(kinds):
            missing = "embedded chunks" if "chunk" not in kinds else "summaries"
            raise InvalidInput(
                f"A hierarchical search needs summaries and chunks; {build.index} holds no "
                f"{missing}.",
                field="index",
                allowed=[
                    live.index_id
                    for live in IndexBuild.objects.live()
                    if _has_summaries_and_chunks(live.spec.kinds)
                ],
            )


def _has_summaries_and_chunks(kinds: Collection[str]) -> bool:
    return "chunk" in kinds and any(kind in kinds for kind in SummaryType.ALL.kinds)


def _keep_best_artifacts(found: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The hits of the best ``limit`` artifacts, in the order they are in: what is not shown
    need not be proved. Ranks as ``group_by_artifact`` does."""
    scores: dict[str, tuple[float, float]] = {}
    for each in found:
        artifact_id, score = each.point.payload["artifact_id"], each.point.score
        best, support = scores.get(artifact_id, (score, 0.0))
        scores[artifact_id] = max(best, score), support + score
    ranked = sorted(scores, key=lambda key: (-scores[key][0], -scores[key][1], key))
    shown = set(ranked[:limit])
    return [each for each in found if each.point.payload["artifact_id"] in shown]


def group_by_artifact(
    found: Sequence[Candidate], checks: HitChecks, explanations: Mapping[Key, Explanation]
) -> list[ArtifactGroup]:
    """Best first, in one pass over ``found``, which holds the hits of either collection best
    first."""
    artifacts: dict[str, ArtifactGroup] = {}
    pages: dict[str, PageGroup] = {}
    for each in found:
        payload, score = each.point.payload, each.point.score
        artifact_id, page_id, kind = payload["artifact_id"], payload["page_id"], payload["kind"]
        artifact = artifacts.get(artifact_id)
        if artifact is None:
            artifact = artifacts[artifact_id] = ArtifactGroup(
                artifact_id, payload["artifact_title"], each.target.index, score
            )
        artifact.score = max(artifact.score, score)
        artifact.support += score
        hit = make_hit(each, checks, explanations)
        if kind == "artifact_summary":
            artifact.summary = hit
            continue
        page = pages.get(page_id)
        if page is None:
            page = pages[page_id] = PageGroup(page_id, payload["page_index"], score)
            artifact.pages.append(page)
        page.score = max(page.score, score)
        page.support += score
        if kind == "page_summary":
            page.summary = hit
        elif len(page.chunks) < CHUNKS_PER_PAGE:
            page.chunks.append(hit)
    for artifact in artifacts.values():
        artifact.pages.sort(key=lambda each: (-each.score, -each.support, each.page_id))
    return sorted(
        artifacts.values(), key=lambda each: (-each.score, -each.support, each.artifact_id)
    )
