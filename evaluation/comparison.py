"""What a new build finds, measured against what the live one finds for the same queries."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.utils import timezone

from documents.models import Artifact
from evaluation.bootstrap import bootstrap_interval
from evaluation.golden_queries import read_golden
from evaluation.judgements import Judgements, find_artifacts, split_page
from evaluation.measuring import measure_queries, parse_measures
from evaluation.systems import RANKED
from indexing.models import IndexBuild
from retrieval.search import (
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    SearchAnswer,
    SearchRequest,
    search_chunks,
    search_questions,
    search_summaries,
)
from summaries.models import Annotation, Writing

GOLDEN = "golden_queries"
HYPOTHETICAL = "hypothetical_questions"

MAX_QUERIES = 500  # each build answers them all: some seconds of a worker that also indexes
MAX_HYPOTHETICAL = 200
MEASURES = ("nDCG@10", "R@100")

Run = dict[str, dict[str, float]]  # query id -> artifact id -> score

# The kinds of node a search answers by, the finest first.
SEARCHES: Mapping[str, Callable[[SearchRequest], SearchAnswer]] = {
    "chunk": search_chunks,
    "question": search_questions,
    "page_summary": search_summaries,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure's mean over the queries in either build, and the difference new − live with
    its interval of confidence."""

    live: float
    new: float
    difference: float
    low: float
    high: float

    @property
    def is_loss(self) -> bool:
        return self.high < 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """``is_optimistic``: the queries were made from the passages they are to find. ``kind``: of
    the nodes that were searched."""

    source: str
    is_optimistic: bool
    kind: str
    live_build: int
    query_count: int
    measures: dict[str, Difference]
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
class _Queries:
    """``judged`` names artifacts by their ids."""

    source: str
    is_optimistic: bool
    judged: Judgements


def compare_builds(
    live: IndexBuild,
    build: IndexBuild,
    *,
    before_each: Callable[[], None] = lambda: None,
) -> Comparison | None:
    """Have both builds answer the index's golden queries, or else questions that were written
    about the live build's chunks; None where there is nothing to measure by.

    ``before_each`` is called before each query; what it raises ends the comparison.

    Raises:
        InvalidInput: the golden queries cannot be read, or judge no document of the index.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    kinds = [kind for kind in SEARCHES if kind in live.spec.kinds and kind in build.spec.kinds]
    if not kinds:
        return None
    kind = kinds[0]
    queries = _golden_queries(live) or (_hypothetical_queries(live) if kind == "chunk" else None)
    if queries is None:
        return None
    judged = queries.judged
    runs: tuple[Run, Run] = ({}, {})
    for query_id, query in judged.queries.items():
        before_each()
        for each, run in zip((live, build), runs, strict=True):
            run[query_id] = rank_artifacts(each, kind, query)
    of_live, of_new = (measure_queries(parse_measures(MEASURES), judged, run) for run in runs)
    return Comparison(
        source=queries.source,
        is_optimistic=queries.is_optimistic,
        kind=kind,
        live_build=live.number,
        query_count=len(judged.queries),
        measures={name: measure_difference(of_live[name], of_new[name]) for name in MEASURES},
        measured_at=timezone.now(),
    )


def rank_artifacts(build: IndexBuild, kind: str, query: str) -> dict[str, float]:
    """Artifact id -> score of its best node of this kind, for the best artifacts of a build,
    live or not; pages on until there are enough of them."""
    best: dict[str, float] = {}
    request = SearchRequest(indexes=[build], query=query, limit=MAX_LIMIT, verify=False)
    for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
        hits = SEARCHES[kind](replace(request, offset=offset)).hits
        for hit in hits:
            best.setdefault(hit.payload["artifact_id"], hit.score)
        if len(hits) < MAX_LIMIT or len(best) >= RANKED:
            break
    return dict(list(best.items())[:RANKED])


def measure_difference(live: Sequence[float], new: Sequence[float]) -> Difference:
    """Of one measure, given for the same queries in the same order."""
    differences = np.asarray(new, dtype=np.float64) - np.asarray(live, dtype=np.float64)
    low, high = bootstrap_interval(differences)
    return Difference(
        live=float(np.mean(live)),
        new=float(np.mean(new)),
        difference=float(differences.mean()),
        low=low,
        high=high,
    )


# --- What to ask -----------------------------------------------------------------------------


def _golden_queries(build: IndexBuild) -> _Queries | None:
    """Those of the index's own folder and of verdicts that were kept, where there are any; judged
    by artifact, whatever the page."""
    if not Artifact.objects.filter(index=build.index_id).exists():
        return None
    golden = read_golden(build.index_id)
    if golden is None:
        return None
    # Any sample does, as long as it is the same each time.
    ids = sorted(golden.queries, key=lambda each: hashlib.sha256(each.encode()).digest())
    ids = ids[:MAX_QUERIES]
    # What is judged and not there cannot be found: it counts as missed, as `evaluate` counts it.
    found = find_artifacts(
        build.index_id,
        Judgements(
            {query_id: golden.queries[query_id] for query_id in ids},
            {query_id: golden.qrels[query_id] for query_id in ids},
        ),
    )
    qrels: dict[str, dict[str, int]] = {}
    for query_id, judged in found.qrels.items():
        by_artifact = qrels.setdefault(query_id, {})
        for name, grade in judged.items():
            artifact, _ = split_page(name)
            by_artifact[artifact] = max(grade, by_artifact.get(artifact, 0))
    return _Queries(GOLDEN, False, Judgements(found.queries, qrels))


def _hypothetical_queries(live: IndexBuild) -> _Queries | None:
    """Questions written about the live build's chunks, each to find the chunk's document.

    For searches of chunks, which do not hold them. Chunk ids are hashes: in their order, the
    first are any sample.
    """
    written = (
        Annotation.objects.filter(build=live, state=Writing.State.WRITTEN)
        .exclude(questions=[])
        .order_by("chunk_id")
        .values_list("chunk_id", "artifact_id", "questions")[:MAX_HYPOTHETICAL]
    )
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for chunk_id, artifact_id, (question, *_) in written:
        if question.strip():
            queries[str(chunk_id)] = question[:MAX_QUERY_CHARS]
            qrels[str(chunk_id)] = {str(artifact_id): 1}
    return _Queries(HYPOTHETICAL, True, Judgements(queries, qrels)) if queries else None
