"""Compare the search quality of a new build with that of the live build on the same queries."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from django.utils import timezone

from core.text import hash_text
from documents.models import Artifact
from evaluation.golden_queries import read_golden_queries
from evaluation.judged_queries import JudgedQueries, resolve_artifact_ids, split_page_name
from evaluation.measuring import measure_difference, measure_systems
from evaluation.systems import ModeSystem
from indexing.models import IndexBuild
from retrieval.search import MAX_QUERY_CHARS
from summaries.models import Annotation, WrittenText

MAX_GOLDEN_QUERIES = 500  # limits the time in a worker that also indexes to some seconds per build
MAX_HYPOTHETICAL_QUERIES = 200
MEASURES = ("nDCG@10", "R@100")

# Kind of node -> the mode that searches it; the most specific kind first.
MODE_BY_KIND = {"chunk": "hybrid", "question": "questions", "page_summary": "summaries"}


def compare_builds(
    live: IndexBuild,
    new_build: IndexBuild,
    *,
    before_each_answer: Callable[[], None] = lambda: None,
) -> dict[str, Any] | None:
    """Compare both builds on the index's golden queries, or else on the hypothetical questions of
    the live build's chunks; None if the index has neither. The result is stored with the build.

    ``is_optimistic``: the queries were written from the passages they must find. ``is_loss``: the
    new build is worse, of a measure or of any, beyond what chance explains.

    ``before_each_answer`` is called before each answer; what it raises ends the comparison.

    Raises:
        InvalidInput: the golden queries cannot be read, or no judged document is in the index.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    both = set(live.spec.kinds) & set(new_build.spec.kinds)
    kind = next((kind for kind in MODE_BY_KIND if kind in both), None)
    if kind is None:
        return None
    golden = _sample_golden_queries(live)
    judged = golden or (_sample_hypothetical_queries(live) if kind == "chunk" else None)
    if judged is None:
        return None
    systems = [ModeSystem(MODE_BY_KIND[kind], build) for build in (live, new_build)]
    in_live, in_new = measure_systems(
        systems, judged, measures=MEASURES, before_each_answer=before_each_answer, is_timed=False
    )
    measures = {
        name: measure_build_difference(values, in_new.values_by_measure[name])
        for name, values in in_live.values_by_measure.items()
    }
    return {
        "source": "golden_queries" if golden else "hypothetical_questions",
        "is_optimistic": golden is None,
        "kind": kind,
        "live_build": live.number,
        "query_count": len(judged.queries),
        "measures": measures,
        "is_loss": any(each["is_loss"] for each in measures.values()),
        "measured_at": timezone.now().isoformat(),
    }


def measure_build_difference(live: Sequence[float], new: Sequence[float]) -> dict[str, Any]:
    """Compare one measure's values in both builds, given for the same queries in the same order."""
    measured = measure_difference(live, new)
    means = {"live": float(np.mean(live)), "new": float(np.mean(new))}
    return {**means, **measured, "is_loss": measured["high"] < 0}


# --- Queries ---------------------------------------------------------------------------------


def _sample_golden_queries(build: IndexBuild) -> JudgedQueries | None:
    """Return a fixed sample of the index's golden queries, with judged pages reduced to their
    artifacts; None if there are none."""
    if not Artifact.objects.filter(index=build.index_id).exists():
        return None
    golden = read_golden_queries(build.index_id)
    if golden is None:
        return None
    # Hashes give a sample that is the same each time.
    sample = sorted(golden.queries, key=hash_text)[:MAX_GOLDEN_QUERIES]
    # Judged documents that are not in the index count as missed, as in `evaluate`.
    found = resolve_artifact_ids(build.index_id, golden.select(sample))
    qrels: dict[str, dict[str, int]] = {}
    for query_id, judged in found.qrels.items():
        by_artifact = qrels.setdefault(query_id, {})
        for name, grade in judged.items():
            artifact, _ = split_page_name(name)
            by_artifact[artifact] = max(grade, by_artifact.get(artifact, 0))
    return JudgedQueries(found.queries, qrels)


def _sample_hypothetical_queries(live: IndexBuild) -> JudgedQueries | None:
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
    return JudgedQueries(queries, qrels) if queries else None
