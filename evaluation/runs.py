"""Evaluation runs: create one, claim it, measure it, store its results."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import F
from django.db.models.functions import Now

from access.exceptions import ModelUseSpent
from access.grants import EVERYTHING, Grant
from access.usage_limits import add_model_use, require_model_use, require_room
from core.exceptions import InvalidInput, StrataError
from core.leases import NO_LEASE
from core.text import clean_text
from documents.models import Artifact
from evaluation.exceptions import RunTakenOver, StopRequested, UnknownRun
from evaluation.golden_queries import golden_queries_folder, read_golden_queries
from evaluation.judged_queries import (
    JudgedQueries,
    format_page_name,
    resolve_artifact_ids,
    split_page_name,
)
from evaluation.measures import parse_measures
from evaluation.measuring import (
    DEFAULT_MEASURES,
    SystemMeasurement,
    compare_to_baseline,
    measure_systems,
)
from evaluation.models import EvaluationRun
from evaluation.systems import HitLocation, check_system_name, find_answerable_modes, make_system
from indexing.models import Index, IndexBuild
from language_models.call_counts import ModelUse, counting_use

MAX_RUN_QUERIES = 10_000
MAX_SYSTEMS = 6  # more cannot be distinguished in a plot
MAX_MEASURES = 10
PROGRESS_INTERVAL_SECONDS = 1.0  # between two updates of the progress
# The hits of the worst and of the most changed queries are stored.
_SHOWN_QUERIES_PER_SYSTEM = 30
_SHOWN_CHARS = 300  # of a hit's text

State = EvaluationRun.State


def create_run(
    index: str,
    *,
    systems: Sequence[str] = (),
    baseline: str = "",
    measures: Sequence[str] = DEFAULT_MEASURES,
    judged: JudgedQueries | None = None,
    asked_by: str = "",
) -> EvaluationRun:
    """Create a queued run. By default it measures every mode the index can answer, with the index's
    golden queries. If the same one already waits to begin, return that one.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: a system or measure does not exist, a limit is exceeded, or there are no
            judged queries.
        TooManyJobs: ``asked_by`` has as many unfinished runs as a key may.
    """
    Index.objects.require(index)
    given = [*(systems or find_answerable_modes(index)), baseline]
    system_names = list(dict.fromkeys(name for name in given if name))
    _require_at_most(system_names, MAX_SYSTEMS, "systems")
    for name in system_names:
        check_system_name(name)
    _require_at_most(measures, MAX_MEASURES, "measures")
    parsed = [str(measure) for measure in parse_measures(measures)]
    source = EvaluationRun.Source.GOLDEN if judged is None else EvaluationRun.Source.GIVEN
    judged = judged or read_golden_queries(index)
    if judged is None:
        raise InvalidInput(
            f"The index {index} has no judgements or golden queries to evaluate it with.",
            field="qrels",
            fix="Send queries and qrels, mark hits as good or bad, or write golden queries into "
            f"{golden_queries_folder(index)}.",
        )
    _require_at_most(judged.queries, MAX_RUN_QUERIES, "queries")
    resolve_artifact_ids(index, judged)
    request = {
        "index_id": index,
        "systems": system_names,
        "baseline": baseline,
        "measures": parsed,
        "source": source,
        "judgements_hash": judged.fingerprint,
    }
    if waiting := EvaluationRun.objects.filter(state=State.QUEUED, **request).first():
        return waiting
    unfinished = EvaluationRun.objects.unfinished().filter(asked_by=asked_by)
    require_room(asked_by, unfinished, settings.STRATA_KEY_WAITING_JOBS, "evaluations")
    return EvaluationRun.objects.create(
        **request,
        queries=judged.queries,
        qrels=judged.qrels,
        query_count=len(judged.queries),
        total_count=len(judged.queries) * len(system_names),
        asked_by=asked_by,
    )


def get_run(run_id: str | UUID, grant: Grant = EVERYTHING) -> EvaluationRun:
    """Find a run by its id. Raises ``UnknownRun``: there is no run with this id that the grant
    shows."""
    try:
        return grant.limit(EvaluationRun.objects.all()).get(pk=run_id)
    except (EvaluationRun.DoesNotExist, ValidationError):  # the latter: it is not a UUID
        raise UnknownRun(field="id") from None


def claim_run(run_id: UUID) -> EvaluationRun | None:
    """Claim a run for this worker; None if another worker holds it or it has ended."""
    claimable = EvaluationRun.objects.claimable().filter(pk=run_id)
    claim = claimable.claim(state=State.RUNNING, done_count=0)
    return None if claim is None else claim.rows.get()


def measure_run(
    run: EvaluationRun, *, before_each_answer: Callable[[], None] = lambda: None
) -> EvaluationRun:
    """Measure a claimed run and store its results.

    If ``before_each_answer`` raises StopRequested, the run is requeued.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: the run is requeued; retry helps.
        RunTakenOver: the lease expired and another worker has claimed the run.
    """
    if run.attempts > run.max_attempts():
        return _finish_run(
            run,
            state=State.FAILED,
            error_code="gave_up",
            error_detail=f"The worker died at each of {run.max_attempts()} attempts.",
        )
    build = IndexBuild.objects.live().filter(index=run.index_id).first()
    answer_count, stored_at = 0, time.monotonic()

    def report_answer() -> None:
        nonlocal answer_count, stored_at
        before_each_answer()
        if _count_model_use(run, model_use):
            require_model_use(run.asked_by)
        if time.monotonic() - stored_at >= PROGRESS_INTERVAL_SECONDS:
            stored_at = time.monotonic()
            _update_claimed_run(run, done_count=answer_count)
        answer_count += 1

    try:
        judged = resolve_artifact_ids(run.index_id, JudgedQueries(run.queries, run.qrels))
        with run.get_claim().renewed(), counting_use() as model_use:
            try:
                measured = measure_systems(
                    [make_system(run.index_id, name) for name in run.systems],
                    judged,
                    measures=run.measures,
                    before_each_answer=report_answer,
                )
            finally:
                _count_model_use(run, model_use)
    except StrataError as error:
        if error.is_retryable and not isinstance(error, ModelUseSpent):
            _requeue_run(run)
            raise
        return _finish_run(
            run, state=State.FAILED, error_code=error.code, error_detail=error.detail
        )
    except StopRequested:
        _requeue_run(run)
        run.refresh_from_db()
        return run
    return _finish_run(
        run,
        state=State.DONE,
        done_count=run.total_count,
        build_number=build.number if build else None,
        results=_make_results(measured, run.baseline),
        details=_make_details(measured, judged, run),
    )


def _count_model_use(run: EvaluationRun, use: ModelUse) -> bool:
    """Count the use of the language model since the last call; return whether there was any."""
    calls, tokens = use.call_count, use.token_count
    use.call_count = use.token_count = 0
    add_model_use(run.asked_by, calls=calls, tokens=tokens)
    return calls > 0


def _requeue_run(run: EvaluationRun) -> None:
    """Requeue a run, so that another worker can start it again at once."""
    _update_claimed_run(run, state=State.QUEUED, attempts=F("attempts") - 1, **NO_LEASE)


def _finish_run(run: EvaluationRun, **fields: Any) -> EvaluationRun:
    _update_claimed_run(run, **fields, finished_at=Now(), **NO_LEASE)
    run.refresh_from_db()
    return run


def _update_claimed_run(run: EvaluationRun, **fields: Any) -> None:
    """Save fields of a run while its claim is held. Raises ``RunTakenOver``: this worker has lost
    its claim, or the run was deleted."""
    if not run.get_claim().rows.update(**fields):
        raise RunTakenOver


def _require_at_most(values: Sequence[str] | Mapping[str, str], limit: int, field: str) -> None:
    if len(values) > limit:
        raise InvalidInput(f"An evaluation takes at most {limit:,} {field}.", field=field)


# --- Results -------------------------------------------------------------------------


def _make_results(measured: Sequence[SystemMeasurement], baseline: str) -> list[dict[str, Any]]:
    compared = next((each for each in measured if each.system == baseline), None)
    rows = []
    for each in measured:
        row: dict[str, Any] = {
            "system": each.system,
            "measures": each.means,
            "p50_ms": round(float(np.percentile(each.latencies_ms, 50)), 3),
            "p95_ms": round(float(np.percentile(each.latencies_ms, 95)), 3),
        }
        if compared is not None and each is not compared:
            row["differences"] = compare_to_baseline(each, compared)
        rows.append(row)
    return rows


def _make_details(
    measured: Sequence[SystemMeasurement], judged: JudgedQueries, run: EvaluationRun
) -> dict[str, Any]:
    """Return every query's values in query order, and the hits returned for the shown queries."""
    order = list(judged.queries)
    shown = _choose_shown_queries(measured, order, run.baseline)
    artifact_ids = {
        location.artifact_id
        for query_id in shown
        for each in measured
        for location in each.top_locations[query_id]
    }
    existing = Artifact.objects.filter(pk__in=artifact_ids).values_list("pk", "external_id")
    names = {str(pk): name for pk, name in existing}
    return {
        "queries": order,
        "values": {
            each.system: {
                name: [round(value, 6) for value in values]
                for name, values in each.values_by_measure.items()
            }
            for each in measured
        },
        "returned": {
            query_id: {
                each.system: [
                    _render_location(location, judged.qrels[query_id], names)
                    for location in each.top_locations[query_id]
                ]
                for each in measured
            }
            for query_id in shown
        },
    }


def _choose_shown_queries(
    measured: Sequence[SystemMeasurement], order: Sequence[str], baseline: str
) -> list[str]:
    """Return the queries with the lowest values, and those that differ most from the baseline."""
    first = next(iter(measured[0].values_by_measure))
    values = {each.system: each.values_by_measure[first] for each in measured}
    positions = range(len(order))
    rankings = [sorted(positions, key=lambda n: min(each[n] for each in values.values()))]
    if baseline:
        before = values[baseline]
        rankings += [
            sorted(positions, key=lambda n: -abs(after[n] - before[n])) for after in values.values()
        ]
    shown = dict.fromkeys(n for ranking in rankings for n in ranking[:_SHOWN_QUERIES_PER_SYSTEM])
    return [order[n] for n in shown]


def _render_location(
    location: HitLocation, judged: Mapping[str, int], names: Mapping[str, str | None]
) -> dict[str, Any]:
    """``names``: external ids of the artifacts that exist. What is deleted meanwhile stays out."""
    exists = location.artifact_id in names
    grade = judged.get(location.artifact_id)
    if location.page_index is not None:
        grade = judged.get(format_page_name(location.artifact_id, location.page_index), grade)
    return {
        "artifact_id": location.artifact_id,
        "external_id": names.get(location.artifact_id),
        "title": location.title if exists else "",
        "page_index": location.page_index,
        "text": " ".join(location.text.split())[:_SHOWN_CHARS] if exists else "",
        "relevance": grade,
    }


def erase_artifact(artifact: Artifact) -> None:
    """Erase what runs store about a deleted document: the text and title of its hits, and the
    queries that only it answered, because people write those after the document. A run that is not
    finished and has such a query ends."""
    runs = EvaluationRun.objects.filter(index=artifact.index)
    for run in runs.only("queries", "qrels", "details"):
        queries, is_changed = dict(run.queries), False
        for query_id, judged in run.qrels.items():
            relevant = {
                clean_text(split_page_name(name)[0]) for name, grade in judged.items() if grade > 0
            }
            if relevant and relevant <= {artifact.external_id, str(artifact.pk)}:
                queries[query_id], is_changed = "", True
        for by_system in run.details.get("returned", {}).values():
            for hit in (hit for hits in by_system.values() for hit in hits):
                if hit["artifact_id"] == str(artifact.pk):
                    hit |= {"external_id": None, "title": "", "text": ""}
                    is_changed = True
        if is_changed:
            stored = EvaluationRun.objects.filter(pk=run.pk)
            stored.update(queries=queries, details=run.details)
            stored.unfinished().update(
                state=State.FAILED,
                error_code=InvalidInput.code,
                error_detail="A document that alone answers one of its queries was deleted.",
                **NO_LEASE,
            )
