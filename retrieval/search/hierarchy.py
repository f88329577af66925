"""Hierarchical search: summaries and chunks at once, grouped by artifact and page."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db.models import F

from access.grants import Grant
from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.explanation import Explanation
from retrieval.ledger import LiveBuild
from retrieval.search.flat import Hit, Stopwatch, drop_repeated_chunks, make_hit
from retrieval.search.hit_checks import DroppedPoints, HitChecks
from retrieval.search.ranking import explain_candidates, fetch_points
from retrieval.search.request import Mode, StaleHitPolicy, SummaryType, check_query
from retrieval.search.targets import (
    Candidate,
    PointKey,
    Target,
    find_builds,
    get_score_kind,
    make_targets,
    merge_candidates,
    parse_recipe,
    set_query_vectors,
    wait_for_revision,
)
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary

MAX_ARTIFACTS = 50
CANDIDATES_PER_COLLECTION = 50  # 50 summaries and 50 chunks
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
    stale: StaleHitPolicy = StaleHitPolicy.FLAG
    min_revision: int | None = None


@dataclass(slots=True)
class PageGroup:
    """``summary``: the hit, if it was found. ``summary_text``: that of a page with a summary of its
    present text."""

    page_id: str
    page_index: int | None
    score: float
    score_sum: float = 0.0  # sum of the scores of all its hits; breaks ties
    summary: Hit | None = None
    summary_text: str | None = None
    chunks: list[Hit] = field(default_factory=list)  # best first


@dataclass(slots=True)
class ArtifactGroup:
    """An artifact with its best pages.

    The score of an artifact or page is that of its best hit. Ties, frequent among reciprocal
    ranks, go to the larger sum of scores.

    Scores of summaries and chunks are compared directly: fused scores use the same k and weights
    in both collections, and cosines come from one model (those of several are replaced by
    reciprocal ranks). BM25 scores of two collections are only roughly comparable.

    Summaries that rules wrote are shown and do not count: they quote the chunks, and would put a
    text with one typical sentence before one that answers the query.
    """

    artifact_id: str
    title: str
    file_name: str | None
    index: str
    score: float
    score_sum: float = 0.0  # sum of the scores of all its hits; breaks ties
    summary: Hit | None = None
    pages: list[PageGroup] = field(default_factory=list)  # best first


@dataclass(frozen=True, slots=True)
class HierarchicalAnswer:
    builds: dict[str, int | None]
    score_kind: str
    artifacts: list[ArtifactGroup]  # best first
    dropped: DroppedPoints
    stale_ids: list[UUID]  # the caller enqueues planning for these
    took_ms: dict[str, float]  # by stage
    notes: list[str]  # what the answer lacks


def search_hierarchical(request: HierarchicalRequest, grant: Grant) -> HierarchicalAnswer:
    """The best artifacts for a query with their best pages, and up to three chunks of each.

    Artifacts are ranked by the best 50 summaries and the best 50 chunks, after hits that fail
    their check are dropped. An artifact or page has its summary, its chunks, or both.

    Raises:
        InvalidInput: names the parameter; also if an index lacks summaries or chunks.
        UnknownIndex: lists the known names.
        NotYetIndexed: ``min_revision`` was not reached in time.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    stopwatch = Stopwatch()
    check_query(request.indexes, request.query)
    if not 1 <= request.limit <= MAX_ARTIFACTS:
        raise InvalidInput(f"limit must be between 1 and {MAX_ARTIFACTS}.", field="limit")
    if not grant.sees_all_documents:  # the check drops what the grant excludes
        request = replace(request, verify=True)
    builds = find_builds(request.indexes, grant)
    _require_summaries_and_chunks(builds.values())
    summaries = make_targets(builds.values(), SummaryType.ALL.kinds, request.filter)
    chunks = make_targets(builds.values(), ["chunk"], request.filter)
    targets = [*summaries, *chunks]
    wait_for_revision(targets, request.min_revision)
    stopwatch.start()
    notes = set_query_vectors(request.query, request.mode, targets)
    for target in targets:
        target.needs_ranks |= request.explain
    stopwatch.lap("embed")

    checks, candidates = _find_candidates(request, summaries, chunks, stopwatch)
    if checks.orphans:
        # Most likely points were replaced between reading store and ledger. Search once more.
        for target in targets:
            target.reset()
        checks, candidates = _find_candidates(request, summaries, chunks, stopwatch)
    explanations: dict[PointKey, Explanation] = {}
    if request.explain:
        explanations = explain_candidates(request.mode, candidates)
    artifacts = group_by_artifact(candidates, checks, explanations)
    _read_page_summaries(artifacts, [build.id for build in builds.values() if build])
    return HierarchicalAnswer(
        builds={name: build.number if build else None for name, build in builds.items()},
        score_kind=get_score_kind(request.mode, targets),
        artifacts=artifacts,
        dropped=checks.dropped,
        stale_ids=sorted(checks.stale_ids),
        took_ms=stopwatch.took_ms(),
        notes=notes,
    )


def _find_candidates(
    request: HierarchicalRequest,
    summaries: Sequence[Target],
    chunks: Sequence[Target],
    stopwatch: Stopwatch,
) -> tuple[HitChecks, list[Candidate]]:
    """Find and check the candidates to show: summaries best first, then chunks best first."""
    fetch_points([*summaries, *chunks], request.mode, CANDIDATES_PER_COLLECTION)
    found = (
        merge_candidates(summaries)[:CANDIDATES_PER_COLLECTION]
        + drop_repeated_chunks(merge_candidates(chunks))[:CANDIDATES_PER_COLLECTION]
    )
    stopwatch.lap("search")

    checks = HitChecks()
    candidates, found = found, _keep_best_artifacts(found, request.limit)
    while request.verify:
        checks.check(found)
        unserved_keys = {each.key for each in found if not checks.is_served(each, request.stale)}
        if not unserved_keys:
            break
        # The next iteration checks the candidates that move up.
        candidates = [each for each in candidates if each.key not in unserved_keys]
        found = _keep_best_artifacts(candidates, request.limit)
    stopwatch.lap("verify")
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
                    for live in build.grant.limit(IndexBuild.objects.live()).readable()
                    if _has_summaries_and_chunks(live.spec.kinds)
                ],
            )


def _has_summaries_and_chunks(kinds: Collection[str]) -> bool:
    return "chunk" in kinds and any(kind in kinds for kind in SummaryType.ALL.kinds)


def _counts(candidate: Candidate) -> bool:
    """Whether a hit counts in the ranking: a chunk, or a summary that no rules wrote."""
    return candidate.point.payload.get("model_name") != EXTRACTIVE_MODEL_NAME


def _keep_best_artifacts(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Keep the hits of the best ``limit`` artifacts, in the given order, so that only hits that
    are shown are checked. Ranks artifacts as ``group_by_artifact`` does."""
    scores: dict[str, tuple[float, float]] = {}
    for each in filter(_counts, candidates):
        artifact_id, score = each.point.payload["artifact_id"], each.point.score
        best, score_sum = scores.get(artifact_id, (score, 0.0))
        scores[artifact_id] = max(best, score), score_sum + score
    ranked = sorted(scores, key=lambda key: (-scores[key][0], -scores[key][1], key))
    shown = set(ranked[:limit])
    return [each for each in candidates if each.point.payload["artifact_id"] in shown]


def group_by_artifact(
    candidates: Sequence[Candidate], checks: HitChecks, explanations: Mapping[PointKey, Explanation]
) -> list[ArtifactGroup]:
    """Group hits by artifact and page, best first. Summaries and chunks must each be given best
    first."""
    artifacts: dict[str, ArtifactGroup] = {}
    pages: dict[str, PageGroup] = {}
    uncounted = [each for each in candidates if not _counts(each)]
    for each in filter(_counts, candidates):
        payload, score = each.point.payload, each.point.score
        artifact_id, page_id, kind = payload["artifact_id"], payload["page_id"], payload["kind"]
        artifact = artifacts.get(artifact_id)
        if artifact is None:
            artifact = artifacts[artifact_id] = ArtifactGroup(
                artifact_id,
                payload["artifact_title"],
                payload.get("file_name"),
                each.target.index,
                score,
            )
        artifact.score = max(artifact.score, score)
        artifact.score_sum += score
        hit = make_hit(each, checks, explanations)
        if kind == "artifact_summary":
            artifact.summary = hit
            continue
        page = pages.get(page_id)
        if page is None:
            page = pages[page_id] = PageGroup(page_id, payload["page_index"], score)
            artifact.pages.append(page)
        page.score = max(page.score, score)
        page.score_sum += score
        if kind == "page_summary":
            page.summary = hit
        elif len(page.chunks) < CHUNKS_PER_PAGE:
            page.chunks.append(hit)
    for each in uncounted:
        payload, hit = each.point.payload, make_hit(each, checks, explanations)
        if payload["kind"] == "artifact_summary":
            if artifact := artifacts.get(payload["artifact_id"]):
                artifact.summary = hit
        elif page := pages.get(payload["page_id"]):
            page.summary = hit
    for artifact in artifacts.values():
        artifact.pages.sort(key=lambda each: (-each.score, -each.score_sum, each.page_id))
    return sorted(
        artifacts.values(), key=lambda each: (-each.score, -each.score_sum, each.artifact_id)
    )


def _read_page_summaries(artifacts: Sequence[ArtifactGroup], build_ids: Collection[int]) -> None:
    """Give each page the text of its summary, found or not, in one query."""
    pages = {page.page_id: page for artifact in artifacts for page in artifact.pages}
    for page in pages.values():
        if page.summary is not None:
            page.summary_text = page.summary.payload.get("summary_text")
    missing = [UUID(page_id) for page_id, page in pages.items() if page.summary is None]
    current = Summary.objects.not_empty().filter(written_input_hash=F("page__content_hash"))
    found = current.filter(build__in=build_ids, page__in=missing) if missing else current.none()
    for page_id, text in found.values_list("page", "text"):
        pages[str(page_id)].summary_text = text
