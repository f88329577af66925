"""Compare the search quality of a new build with that of the live build on the same queries."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from documents.models import Artifact
from evaluation.golden_queries import read_golden_queries
from evaluation.judged_queries import JudgedQueries, resolve_artifact_ids, split_page_name
from evaluation.measuring import compare_paired_values, compute_measures, parse_measures
from evaluation.systems import RANKING_DEPTH, load_retriever_class
from indexing.models import IndexBuild
from retrieval.search import MAX_LIMIT, MAX_OFFSET, MAX_QUERY_CHARS, require_vectors
from summaries.models import Annotation, WrittenText

GOLDEN_SOURCE = "golden_queries"
HYPOTHETICAL_SOURCE = "hypothetical_questions"

MAX_GOLDEN_QUERIES = 500  # limits the time in a worker that also indexes to some seconds per build
MAX_HYPOTHETICAL_QUERIES = 200
MEASURES = ("nDCG@10", "R@100")

ArtifactScores = dict[str, dict[str, float]]  # query id -> artifact id -> score

# Kind of node -> the search for it; the most specific kind first.
SEARCH_BY_KIND = {"chunk": "pages", "question": "questions", "page_summary": "summaries"}


@dataclass(frozen=True, slots=True)
class BuildDifference:
    """One measure's mean in both builds, and the difference (new − live) with its confidence
    interval."""

    live: float
    new: float
    difference: float
    low: float
    high: float

    @property
    def is_loss(self) -> bool:
        return self.high < 0


@dataclass(frozen=True, slots=True)
class BuildComparison:
    """The result of comparing a new build with the live one. ``is_optimistic``: the queries were
    written from the passages they must find. ``kind``: the kind of node that was searched."""

    source: str
    is_optimistic: bool
    kind: str
    live_build: int
    query_count: int
    measures: dict[str, BuildDifference]
    measured_at: datetime

    @property
    def is_loss(self) -> bool:
        """Whether the new build is worse by any measure, beyond what chance explains."""
        return any(measured.is_loss for measured in self.measures.values())

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "measures": {
                name: {**asdict(measured), "is_loss": measured.is_loss}
                for name, measured in self.measures.items()
            },
            "is_loss": self.is_loss,
            "measured_at": self.measured_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class _ComparisonQueries:
    """``judged`` names artifacts by their ids."""

    source: str
    is_optimistic: bool
    judged: JudgedQueries


def compare_builds(
    live: IndexBuild,
    new_build: IndexBuild,
    *,
    before_each_query: Callable[[], None] = lambda: None,
) -> BuildComparison | None:
    """Compare both builds on the index's golden queries, or else on the hypothetical questions of
    the live build's chunks; None if the index has neither.

    ``before_each_query`` is called before each query; what it raises ends the comparison.

    Raises:
        InvalidInput: the golden queries cannot be read, or no judged document is in the index.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    kinds = [
        kind for kind in SEARCH_BY_KIND if kind in live.spec.kinds and kind in new_build.spec.kinds
    ]
    if not kinds:
        return None
    kind = kinds[0]
    queries = _sample_golden_queries(live) or (
        _sample_hypothetical_queries(live) if kind == "chunk" else None
    )
    if queries is None:
        return None
    judged = queries.judged
    runs: tuple[ArtifactScores, ArtifactScores] = ({}, {})
    for query_id, query in judged.queries.items():
        before_each_query()
        for each, run in zip((live, new_build), runs, strict=True):
            run[query_id] = rank_artifacts(each, kind, query)
    live_values, new_values = (
        compute_measures(parse_measures(MEASURES), judged, run) for run in runs
    )
    return BuildComparison(
        source=queries.source,
        is_optimistic=queries.is_optimistic,
        kind=kind,
        live_build=live.number,
        query_count=len(judged.queries),
        measures={
            name: measure_build_difference(live_values[name], new_values[name]) for name in MEASURES
        },
        measured_at=timezone.now(),
    )


def rank_artifacts(build: IndexBuild, kind: str, query: str) -> dict[str, float]:
    """Return the best artifacts of a build (live or not) as artifact id -> score of its best node;
    fetches further pages of hits until there are ``RANKING_DEPTH`` artifacts."""
    best: dict[str, float] = {}
    retriever = load_retriever_class(SEARCH_BY_KIND[kind])
    for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
        answer = retriever(build, limit=MAX_LIMIT, offset=offset, verify=False).search(query)
        require_vectors(answer.notes)
        hits = answer.hits
        for hit in hits:
            best.setdefault(hit.payload["artifact_id"], hit.score)
        if len(hits) < MAX_LIMIT or len(best) >= RANKING_DEPTH:
            break
    return dict(list(best.items())[:RANKING_DEPTH])


def measure_build_difference(live: Sequence[float], new: Sequence[float]) -> BuildDifference:
    """Compare one measure's values in both builds, given for the same queries in the same order."""
    return BuildDifference(*compare_paired_values(live, new))


# --- Queries ---------------------------------------------------------------------------------


def _sample_golden_queries(build: IndexBuild) -> _ComparisonQueries | None:
    """Return a fixed sample of the index's golden queries, with judged pages reduced to their
    artifacts; None if there are none."""
    if not Artifact.objects.filter(index=build.index_id).exists():
        return None
    golden = read_golden_queries(build.index_id)
    if golden is None:
        return None
    # Hashes give a sample that is the same each time.
    ids = sorted(golden.queries, key=lambda each: hashlib.sha256(each.encode()).digest())
    ids = ids[:MAX_GOLDEN_QUERIES]
    # Judged documents that are not in the index count as missed, as in `evaluate`.
    found = resolve_artifact_ids(
        build.index_id,
        JudgedQueries(
            {query_id: golden.queries[query_id] for query_id in ids},
            {query_id: golden.qrels[query_id] for query_id in ids},
        ),
    )
    qrels: dict[str, dict[str, int]] = {}
    for query_id, judged in found.qrels.items():
        by_artifact = qrels.setdefault(query_id, {})
        for name, grade in judged.items():
            artifact, _ = split_page_name(name)
            by_artifact[artifact] = max(grade, by_artifact.get(artifact, 0))
    return _ComparisonQueries(GOLDEN_SOURCE, False, JudgedQueries(found.queries, qrels))


def _sample_hypothetical_queries(live: IndexBuild) -> _ComparisonQueries | None:
    """Return hypothetical questions of the live build's chunks, each with its document as relevant.

    Use them only to search chunks, which do not contain the questions. Chunk ids are hashes, so
    the first ids in order are a random sample.
    """
    written = (
        Annotation.objects.filter(build=live, state=WrittenText.State.WRITTEN)
        .exclude(questions=[])
        .order_by("chunk_id")
        .values_list("chunk_id", "artifact_id", "questions")[:MAX_HYPOTHETICAL_QUERIES]
    )
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for chunk_id, artifact_id, (question, *_) in written:
        if question.strip():
            queries[str(chunk_id)] = question[:MAX_QUERY_CHARS]
            qrels[str(chunk_id)] = {str(artifact_id): 1}
    return (
        _ComparisonQueries(HYPOTHETICAL_SOURCE, True, JudgedQueries(queries, qrels))
        if queries
        else None
    )
