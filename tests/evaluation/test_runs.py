from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from access.exceptions import ModelUseSpent
from access.usage_limits import require_model_use
from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact
from evaluation import runs, tasks
from evaluation.exceptions import RunTakenOver, StopRequested
from evaluation.judged_queries import JudgedQueries
from evaluation.models import EvaluationRun
from evaluation.runs import claim_run, create_run, measure_run
from evaluation.systems import ModeSystem
from indexing.exceptions import StoreUnavailable
from language_models.call_counts import note_use

State = EvaluationRun.State


@pytest.fixture
def run(filled, judged):
    return create_run("plain", systems=["hybrid", "sparse"], baseline="sparse", judged=judged)


def measured(run: EvaluationRun) -> EvaluationRun:
    claimed = claim_run(run.pk)
    assert claimed is not None
    return measure_run(claimed)


class TestCreateRun:
    def test_measures_every_mode_by_default(self, filled, judged):
        run = create_run("plain", judged=judged)

        assert run.systems == ["dense", "sparse", "hybrid"]
        assert run.measures == ["nDCG@10", "R@100", "RR"]
        assert (run.state, run.total_count) == (State.QUEUED, 6)

    def test_returns_an_equal_run_that_is_queued(self, run, judged):
        given = {"systems": ["hybrid", "sparse"], "baseline": "sparse", "judged": judged}

        assert create_run("plain", **given).pk == run.pk
        assert create_run("plain", **given, measures=["P@1"]).pk != run.pk

        claim_run(run.pk)
        assert create_run("plain", **given).pk != run.pk

    def test_measures_the_baseline_as_well(self, filled, judged):
        assert create_run("plain", systems=["plain"], baseline="dense", judged=judged).systems == [
            "plain",
            "dense",
        ]

    @pytest.mark.parametrize(
        ("given", "condition"),
        [
            ({"index": "plian"}, UnknownIndex),
            ({"systems": ["psychic"]}, InvalidInput),
            ({"baseline": "psychic"}, InvalidInput),
            ({"measures": ["goodness"]}, InvalidInput),
            ({"measures": []}, InvalidInput),
            ({"judged": JudgedQueries({"q": "x"}, {"q": {"gone": 1}})}, InvalidInput),
            ({"judged": None}, InvalidInput),
        ],
    )
    def test_refuses_invalid_requests(self, filled, judged, given, condition):
        with pytest.raises(condition):
            create_run(**{"index": "plain", "judged": judged, **given})

        assert not EvaluationRun.objects.exists()

    def test_refuses_more_queries_than_a_run_may_have(self, filled, judged, monkeypatch):
        monkeypatch.setattr(runs, "MAX_RUN_QUERIES", 1)

        with pytest.raises(InvalidInput, match="1 queries"):
            create_run("plain", judged=judged)


@pytest.fixture
def limited(filled, judged, monkeypatch, settings):
    """A run of a key that may call the language model twice a day; each answer calls it twice."""
    cache.clear()
    settings.STRATA_KEY_MODEL_CALLS_PER_DAY = 2
    rank = ModeSystem.rank_locations

    def rank_with_model(system, query):
        note_use(calls=2, tokens=10)
        return rank(system, query)

    monkeypatch.setattr(ModeSystem, "rank_locations", rank_with_model)
    yield create_run("plain", systems=["dense"], judged=judged, asked_by="reader")
    cache.clear()


class TestMeasureRun:
    def test_fails_once_the_key_has_used_its_language_model_calls(self, limited):
        done = measured(limited)

        assert (done.state, done.error_code) == (State.FAILED, "model_use_spent")
        assert done.error_detail == "The key has used its 2 calls of the language model for today."

    def test_counts_the_language_model_calls_before_a_stop_request(self, limited):
        measure_run(claim_run(limited.pk), before_each_answer=stop_at_second_answer())

        with pytest.raises(ModelUseSpent):
            require_model_use("reader")

    def test_stores_the_results(self, run, filled):
        done = measured(run)

        assert (done.state, done.done_count, done.build_number) == (State.DONE, 4, 1)
        assert done.finished_at is not None
        assert done.lease_token is None
        hybrid, sparse = done.results
        assert (hybrid["system"], sparse["system"]) == ("hybrid", "sparse")
        assert set(hybrid["measures"]) == {"nDCG@10", "R@100", "RR"}
        assert hybrid["p95_ms"] >= hybrid["p50_ms"] > 0
        assert set(hybrid["differences"]) == set(hybrid["measures"])
        assert "differences" not in sparse
        assert done.details["queries"] == ["q1", "q2"]
        assert done.details["values"]["hybrid"]["RR"][0] == 1.0
        [first, *_] = done.details["returned"]["q1"]["hybrid"]
        assert first["external_id"] == "d0"
        assert first["relevance"] == 1
        assert "heron" in first["text"]

    def test_releases_the_run_on_a_stop_request(self, run):
        left = measure_run(claim_run(run.pk), before_each_answer=stop_at_second_answer())

        assert (left.state, left.attempts, left.lease_token) == (State.QUEUED, 0, None)
        assert measured(run).state == State.DONE

    def test_releases_the_run_if_the_store_is_unavailable(self, run, monkeypatch):
        def fail(*given, **named):
            raise StoreUnavailable("gone")

        monkeypatch.setattr(runs, "measure_systems", fail)
        with pytest.raises(StoreUnavailable):
            measured(run)

        run.refresh_from_db()
        assert (run.state, run.attempts) == (State.QUEUED, 0)

    def test_ends_when_the_documents_that_it_asks_for_are_deleted(self, run, filled):
        for artifact in filled:
            artifact.delete()

        run.refresh_from_db()
        assert (run.state, run.error_code) == (State.FAILED, "invalid")

    def test_fails_permanently_on_an_error_that_is_not_retryable(self, run, filled):
        for artifact in Artifact.objects.all():  # none is found by its external id
            unnamed = {"external_id": None, "identity": f"file {artifact.pk}"}
            Artifact.objects.filter(pk=artifact.pk).update(**unnamed)

        failed = measured(run)

        assert (failed.state, failed.error_code) == (State.FAILED, "invalid")
        assert "plain" in failed.error_detail

    def test_gives_up_a_run_that_kills_its_worker_each_time(self, run):
        for _ in range(EvaluationRun.max_attempts()):
            claim_run(run.pk)
            run_out_of_time(run)

        given_up = measured(run)

        assert (given_up.state, given_up.error_code) == (State.FAILED, "gave_up")

    def test_stops_if_another_worker_has_claimed_the_run(self, run):
        slow = claim_run(run.pk)
        run_out_of_time(run)
        other = claim_run(run.pk)

        with pytest.raises(RunTakenOver):
            measure_run(slow)

        assert measure_run(other).state == State.DONE

    def test_stores_its_progress_and_renews_its_lease(self, run, monkeypatch):
        monkeypatch.setattr(runs, "PROGRESS_INTERVAL_SECONDS", 0.0)
        seen = []

        def look() -> None:
            row = EvaluationRun.objects.get(pk=run.pk)
            seen.append(row.done_count)
            assert row.leased_until is not None
            assert row.leased_until > timezone.now()

        measure_run(claim_run(run.pk), before_each_answer=look)

        assert seen == [0, 0, 1, 2]


def stop_at_second_answer() -> Callable[[], None]:
    stops = iter([False, True])

    def stop() -> None:
        if next(stops):
            raise StopRequested

    return stop


def run_out_of_time(run: EvaluationRun) -> None:
    late = timezone.now() - timedelta(seconds=1)
    EvaluationRun.objects.filter(pk=run.pk).update(leased_until=late)


class TestClaimRun:
    def test_claims_a_run_for_one_worker_at_a_time(self, run):
        assert claim_run(run.pk) is not None
        assert claim_run(run.pk) is None

    def test_does_not_claim_a_finished_run(self, run):
        measured(run)

        assert claim_run(run.pk) is None


class TestTasks:
    def test_measure_the_requested_run_and_all_queued_ones(self, run, filled, judged):
        other = create_run("plain", systems=["dense"], judged=judged)

        tasks.measure_run(run_id=str(other.pk))

        assert set(EvaluationRun.objects.values_list("state", flat=True)) == {State.DONE}

    def test_leave_a_blocked_run_to_the_reconciliation(self, run, monkeypatch):
        tries = []

        def fail(*given, **named):
            tries.append(1)
            raise StoreUnavailable("gone")

        monkeypatch.setattr(runs, "measure_systems", fail)
        tasks.measure_run(run_id=str(run.pk))

        assert len(tries) == 1
        tasks.reconcile_runs()
        assert len(tries) == 2

    def test_stop_between_two_answers(self, run):
        tasks.evaluation_worker.stop_requested.set()
        try:
            tasks.measure_run(run_id=str(run.pk))
        finally:
            tasks.evaluation_worker.stop_requested.clear()

        run.refresh_from_db()
        assert run.state == State.QUEUED
