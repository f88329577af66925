"""Measurements that are asked for, done by whoever has the models at hand, and kept."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from core.exceptions import InvalidInput, StrataError, UnknownIndex
from documents.models import Artifact
from evaluation.exceptions import RunTakenOver, UnknownRun
from evaluation.golden_queries import golden_folder, read_golden
from evaluation.judgements import Judgements, find_artifacts, name_page
from evaluation.measuring import (
    DEFAULT_MEASURES,
    Measured,
    compare,
    measure_systems,
    parse_measures,
)
from evaluation.models import EvaluationRun
from evaluation.systems import Place, make_system, modes_of
from indexing.models import Index, IndexBuild

MAX_QUERIES = 10_000
MAX_SYSTEMS = 6  # as many as a plot can tell apart
MAX_MEASURES = 10
ATTEMPTS = 3  # what stops its worker each time is given up
NOTE_SECONDS = 1.0  # between two notes of how far it is
_SHOWN_QUERIES = 30  # the worst, and the most changed: what was returned for them is kept
_SHOWN_CHARS = 300  # of a hit's text

State = EvaluationRun.State


def begin_run(
    index: str,
    *,
    systems: Sequence[str] = (),
    baseline: str = "",
    measures: Sequence[str] = DEFAULT_MEASURES,
    judged: Judgements | None = None,
    asked_by: str = "",
) -> EvaluationRun:
    """Ask for a measurement: of these systems, or of every mode the index can answer, by these
    judgements, or by its golden queries.

    Raises:
        UnknownIndex: there is none.
        InvalidInput: there is no such system or measure, too much is asked for, or there is
            nothing to measure by.
    """
    if not Index.objects.filter(pk=index).exists():
        names = Index.objects.values_list("name", flat=True)
        raise UnknownIndex(f"There is no index named {index!r}.", field="index", allowed=names)
    named = list(dict.fromkeys([*(systems or modes_of(index)), *([baseline] if baseline else [])]))
    _require_at_most(named, MAX_SYSTEMS, "systems")
    for name in named:
        make_system(index, name)
    _require_at_most(measures, MAX_MEASURES, "measures")
    parsed = [str(measure) for measure in parse_measures(measures)]
    source = EvaluationRun.Source.GOLDEN if judged is None else EvaluationRun.Source.GIVEN
    judged = judged or read_golden(index)
    if judged is None:
        raise InvalidInput(
            f"There is nothing to measure {index} by.",
            field="qrels",
            fix="Send queries and qrels, mark hits as good or bad, or write golden queries into "
            f"{golden_folder(index)}.",
        )
    _require_at_most(judged.queries, MAX_QUERIES, "queries")
    find_artifacts(index, judged)
    return EvaluationRun.objects.create(
        index_id=index,
        systems=named,
        baseline=baseline,
        measures=parsed,
        source=source,
        queries=judged.queries,
        qrels=judged.qrels,
        judgements_hash=judged.fingerprint,
        query_count=len(judged.queries),
        total_count=len(judged.queries) * len(named),
        asked_by=asked_by[:150],
    )


def get_run(run_id: UUID) -> EvaluationRun:
    """
    Raises:
        UnknownRun: there is none of this id.
    """
    run = EvaluationRun.objects.filter(pk=run_id).first()
    if run is None:
        raise UnknownRun(field="id")
    return run


def claim_run(run_id: UUID) -> EvaluationRun | None:
    """Take a run that no one is at; None where someone is, or it is over."""
    token = uuid4()
    claimed = EvaluationRun.objects.claimable().filter(pk=run_id).order_by().update(
        state=State.RUNNING,
        lease_token=token,
        leased_until=Now() + timedelta(seconds=settings.STRATA_LEASE_SECONDS),
        attempts=F("attempts") + 1,
        done_count=0,
    )  # fmt: skip
    return EvaluationRun.objects.get(pk=run_id) if claimed else None


def measure_run(
    run: EvaluationRun,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    advance: Callable[[int], None] = lambda count: None,
) -> EvaluationRun:
    """Do a claimed run to its end, and keep what came of it; where it is to stop, between two
    answers, it is given back as it was.

    ``advance`` is called with 1 before each answer.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: the run is given back; retry helps.
        RunTakenOver: it was slower than its lease, and someone else has it.
    """
    if run.attempts > ATTEMPTS:
        return _finish(
            run,
            state=State.FAILED,
            error_code="gave_up",
            error_detail=f"Measuring stopped its worker {ATTEMPTS} times.",
        )
    progress = _Progress(run, should_stop, advance)
    build = IndexBuild.objects.live().filter(index=run.index_id).first()
    try:
        judged = find_artifacts(run.index_id, Judgements(run.queries, run.qrels))
        measured = measure_systems(
            [make_system(run.index_id, name) for name in run.systems],
            judged,
            measures=run.measures,
            before_each=progress.note,
        )
    except StrataError as error:
        if error.is_retryable:
            _give_back(run)
            raise
        return _finish(run, state=State.FAILED, error_code=error.code, error_detail=error.detail)
    except _Stopped:
        _give_back(run)
        run.refresh_from_db()
        return run
    return _finish(
        run,
        state=State.DONE,
        done_count=run.total_count,
        build_number=build.number if build else None,
        results=_results(measured, run.baseline),
        details=_details(measured, judged, run),
    )


class _Stopped(Exception):
    """It is to stop."""


class _Progress:
    """Says now and then how far a run is, and renews its lease by that."""

    def __init__(
        self, run: EvaluationRun, should_stop: Callable[[], bool], advance: Callable[[int], None]
    ) -> None:
        self._run = run
        self._should_stop = should_stop
        self._advance = advance
        self._count = 0
        self._noted_at = time.monotonic()

    def note(self) -> None:
        """Before each answer."""
        if self._should_stop():
            raise _Stopped
        self._advance(1)
        now = time.monotonic()
        if now - self._noted_at >= NOTE_SECONDS:
            self._noted_at = now
            _write(
                self._run,
                done_count=self._count,
                leased_until=Now() + timedelta(seconds=settings.STRATA_LEASE_SECONDS),
            )
        self._count += 1


def _give_back(run: EvaluationRun) -> None:
    """For another to begin anew, at once."""
    _write(run, state=State.QUEUED, lease_token=None, leased_until=None, attempts=F("attempts") - 1)


def _finish(run: EvaluationRun, **fields: Any) -> EvaluationRun:
    _write(run, **fields, finished_at=Now(), lease_token=None, leased_until=None)
    run.refresh_from_db()
    return run


def _write(run: EvaluationRun, **fields: Any) -> None:
    """
    Raises:
        RunTakenOver: the claim is not ours any more, or the run was deleted.
    """
    ours = EvaluationRun.objects.filter(pk=run.pk, lease_token=run.lease_token)
    if not ours.update(**fields):
        raise RunTakenOver


def _require_at_most(given: Sequence[str] | Mapping[str, str], most: int, field: str) -> None:
    if len(given) > most:
        raise InvalidInput(f"One run takes {most:,} {field} at most.", field=field)


# --- What came of it -------------------------------------------------------------------------


def _results(measured: Sequence[Measured], baseline: str) -> list[dict[str, Any]]:
    compared = next((each for each in measured if each.system == baseline), None)
    rows = []
    for each in measured:
        row: dict[str, Any] = {
            "system": each.system,
            "measures": each.means,
            "p50_ms": round(each.percentile_ms(50), 3),
            "p95_ms": round(each.percentile_ms(95), 3),
        }
        if compared is not None and each is not compared:
            row["differences"] = {
                name: {**asdict(measured), "is_significant": measured.is_significant}
                for name, measured in compare(each, compared).items()
            }
        rows.append(row)
    return rows


def _details(
    measured: Sequence[Measured], judged: Judgements, run: EvaluationRun
) -> dict[str, Any]:
    """Every query's values in the order of the queries, and what was returned for those that
    people will want to look at."""
    order = list(judged.queries)
    shown = _worth_showing(measured, order, run.baseline)
    places = [place for query_id in shown for each in measured for place in each.best[query_id]]
    names = _external_ids({place.artifact_id for place in places})
    return {
        "queries": order,
        "values": {
            each.system: {
                name: [round(value, 6) for value in values] for name, values in each.values.items()
            }
            for each in measured
        },
        "returned": {
            query_id: {
                each.system: [
                    _render_place(place, judged.qrels[query_id], names)
                    for place in each.best[query_id]
                ]
                for each in measured
            }
            for query_id in shown
        },
    }


def _worth_showing(measured: Sequence[Measured], order: Sequence[str], baseline: str) -> list[str]:
    """The queries with the worst values of the first measure, and those that differ most from
    the baseline's."""
    first = next(iter(measured[0].values))
    values = {each.system: each.values[first] for each in measured}
    positions = range(len(order))
    worst = sorted(positions, key=lambda n: min(each[n] for each in values.values()))
    wanted = dict.fromkeys(worst[:_SHOWN_QUERIES])
    if baseline:
        for name in values:
            changed = sorted(positions, key=lambda n: -abs(values[name][n] - values[baseline][n]))
            wanted |= dict.fromkeys(changed[:_SHOWN_QUERIES])
    return [order[n] for n in wanted]


def _render_place(
    place: Place, judged: Mapping[str, int], names: Mapping[str, str]
) -> dict[str, Any]:
    grade = judged.get(place.artifact_id)
    if place.page_index is not None:
        grade = judged.get(name_page(place.artifact_id, place.page_index), grade)
    return {
        "artifact_id": place.artifact_id,
        "external_id": names.get(place.artifact_id),
        "title": place.title,
        "page_index": place.page_index,
        "text": " ".join(place.text.split())[:_SHOWN_CHARS],
        "relevance": grade,
    }


def _external_ids(artifact_ids: set[str]) -> dict[str, str]:
    found = Artifact.objects.filter(pk__in=list(artifact_ids)).exclude(external_id=None)
    return {str(pk): str(name) for pk, name in found.values_list("pk", "external_id")}
