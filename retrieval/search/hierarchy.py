"""Hierarchical search: summaries and chunks at once, grouped by artifact and page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import F

from access.grants import Grant
from core.exceptions import InvalidInput
from core.stages import stage
from indexing.models import IndexBuild
from indexing.stores import Payload
from retrieval.ledger import LiveBuild
from retrieval.search.flat import drop_repeated_chunks
from retrieval.search.request import SearchOptions, SummaryType, Versions
from retrieval.search.run import AnyAnswer, Hit, SearchRun
from retrieval.search.targets import Candidate, list_live_indexes, merge_candidates
from retrieval.search.versions import fold_versions
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary

MAX_ARTIFACTS = 50
DEFAULT_ARTIFACTS = 5
CANDIDATES_PER_COLLECTION = 50  # 50 summaries and 50 chunks
COMPARED_PER_COLLECTION = 1_000  # with words that hits must have or lack
CHUNKS_PER_PAGE = 3


@dataclass(slots=True)
class PageGroup:
    """``summary``: the hit, if found. ``summary_text``: of a page whose summary is current."""

    page_id: str
    page_index: int | None
    score: float
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
    summary: Hit | None = None
    pages: list[PageGroup] = field(default_factory=list)  # best first


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalAnswer(AnyAnswer):
    score_kind: str
    artifacts: list[ArtifactGroup]  # best first


@stage("retriever", "RETRIEVER")
def search_hierarchical(
    indexes: Sequence[str | IndexBuild], query: str, options: SearchOptions, grant: Grant
) -> HierarchicalAnswer:
    """The best artifacts for a query with their best pages, and up to three chunks of each.

    Artifacts are ranked by the best 50 summaries and the best 50 chunks, after hits that fail
    their check are dropped. An artifact or page has its summary, its chunks, or both. ``limit``
    counts artifacts.
    """
    options.check(max_limit=MAX_ARTIFACTS)
    run = SearchRun(indexes, [query], options, grant)
    run.compared_points = COMPARED_PER_COLLECTION
    _require_summaries_and_chunks(run.builds.values())
    summaries = run.add_targets(SummaryType.ALL.kinds, run.text)
    chunks = run.add_targets(["chunk"], run.text)
    run.embed()

    def rank() -> list[Candidate]:
        """The candidates to show: summaries best first, then chunks best first."""
        with run.stage("search"):
            count = COMPARED_PER_COLLECTION if run.conditions else CANDIDATES_PER_COLLECTION
            run.fetch(run.targets, count)
            found_summaries = run.keep_meeting(merge_candidates(summaries))
            found_chunks = drop_repeated_chunks(run.keep_meeting(merge_candidates(chunks)))
            candidates = [
                *found_summaries[:CANDIDATES_PER_COLLECTION],
                *found_chunks[:CANDIDATES_PER_COLLECTION],
            ]
        with run.stage("verify"):
            if options.versions == Versions.NEWEST:
                candidates = _fold_artifacts(run.keep_served(candidates))
            found = _keep_best_artifacts(candidates, options.limit)
            while len(served := run.keep_served(found)) < len(found):
                # The next iteration checks the candidates that move up.
                unserved = {each.key for each in found} - {each.key for each in served}
                candidates = [each for each in candidates if each.key not in unserved]
                found = _keep_best_artifacts(candidates, options.limit)
        return found

    candidates = run.rank(rank, _count_artifacts)
    [hits] = run.make_hits(candidates)
    artifacts = group_by_artifact(hits)
    _read_page_summaries(artifacts, [build.id for build in run.builds.values() if build])
    return run.finish(HierarchicalAnswer, score_kind=run.score_kind, artifacts=artifacts)


def _fold_artifacts(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Fold versions and copies of chunks, and leave out artifacts all of whose chunks are folded:
    other artifacts show them."""
    chunks = [each for each in candidates if each.point.payload["kind"] == "chunk"]
    kept = fold_versions(chunks, Versions.NEWEST)
    gone = {each.point.payload["artifact_id"] for each in chunks}
    gone -= {each.point.payload["artifact_id"] for each in kept}
    summaries = [each for each in candidates if each.point.payload["kind"] != "chunk"]
    return [each for each in summaries if each.point.payload["artifact_id"] not in gone] + kept


def _require_summaries_and_chunks(builds: Iterable[LiveBuild | None]) -> None:
    for build in builds:
        if build is not None and not _has_summaries_and_chunks(build.spec.kinds):
            missing = "embedded chunks" if "chunk" not in build.spec.kinds else "summaries"
            raise InvalidInput(
                f"A hierarchical search needs summaries and chunks; {build.index} holds no "
                f"{missing}.",
                field="index",
                allowed=list_live_indexes(build.grant, _has_summaries_and_chunks),
            )


def _has_summaries_and_chunks(kinds: Collection[str]) -> bool:
    return "chunk" in kinds and any(kind in kinds for kind in SummaryType.ALL.kinds)


def _counts(payload: Payload) -> bool:
    """Whether a hit counts in the ranking: a chunk, or a summary that no rules wrote."""
    return payload.get("model_name") != EXTRACTIVE_MODEL_NAME


def _count_artifacts(candidates: Iterable[Candidate]) -> int:
    return len({each.point.payload["artifact_id"] for each in candidates})


def _rank(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Each id with the score of its best hit, best first; ties go to the larger sum of scores."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for id, score in scored:
        scores[id].append(score)
    ranked = sorted(scores, key=lambda id: (-max(scores[id]), -sum(scores[id]), id))
    return {id: max(scores[id]) for id in ranked}


def _keep_best_artifacts(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Keep the hits of the best ``limit`` artifacts, in the given order, so that only hits that
    are shown are checked. Ranks artifacts as ``group_by_artifact`` does."""
    counted = (each.point for each in candidates if _counts(each.point.payload))
    ranked = _rank((point.payload["artifact_id"], point.score) for point in counted)
    shown = set(list(ranked)[:limit])
    return [each for each in candidates if each.point.payload["artifact_id"] in shown]


def group_by_artifact(hits: Sequence[Hit]) -> list[ArtifactGroup]:
    """Group hits by artifact and page, best first. Summaries and chunks are given best first."""
    counted = [hit for hit in hits if _counts(hit.payload)]
    of_pages = [hit for hit in counted if hit.payload["kind"] != "artifact_summary"]
    by_artifact = {hit.payload["artifact_id"]: hit for hit in reversed(counted)}
    by_page = {hit.payload["page_id"]: hit for hit in reversed(of_pages)}
    artifacts: dict[str, ArtifactGroup] = {}
    for pk, score in _rank((hit.payload["artifact_id"], hit.score) for hit in counted).items():
        hit, payload = by_artifact[pk], by_artifact[pk].payload
        artifacts[pk] = ArtifactGroup(
            pk, payload["artifact_title"], payload.get("file_name"), hit.index, score
        )
    pages: dict[str, PageGroup] = {}
    for pk, score in _rank((hit.payload["page_id"], hit.score) for hit in of_pages).items():
        payload = by_page[pk].payload
        pages[pk] = PageGroup(pk, payload["page_index"], score)
        artifacts[payload["artifact_id"]].pages.append(pages[pk])
    for hit in hits:
        payload, kind = hit.payload, hit.payload["kind"]
        if kind == "artifact_summary":
            if artifact := artifacts.get(payload["artifact_id"]):
                artifact.summary = hit
        elif page := pages.get(payload["page_id"]):
            if kind == "page_summary":
                page.summary = hit
            elif len(page.chunks) < CHUNKS_PER_PAGE:
                page.chunks.append(hit)
    return list(artifacts.values())


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
