import threading

import pytest
from django.utils import timezone

from indexing import tasks
from indexing.exceptions import EmbeddingUnavailable
from indexing.models import Node, Regeneration
from indexing.regeneration import (
    DueWork,
    begin_regeneration,
    claim_regeneration,
    job,
    regenerate_next_artifacts,
    scope,
)
from indexing.tasks import RegenerationWorker
from tests.acting import record_enqueued
from tests.factories import give, sync
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def wakes(monkeypatch):
    return record_enqueued(monkeypatch, tasks.sync_nodes)


@pytest.fixture
def three(build):
    artifacts = [give(f"The {name} waits.") for name in ("heron", "ledger", "bread")]
    sync(build, *artifacts)
    return artifacts


def work_off(turn: RegenerationWorker, row: Regeneration) -> int:
    """Run the worker until it returns no ids; return the number of runs."""
    waiting, count = [row.pk], 0
    while waiting:
        waiting = turn.run(waiting.pop())
        count += 1
    row.refresh_from_db()
    return count


class TestRegenerationWorker:
    def test_processes_all_artifacts_and_enqueues_syncing(self, three, build, wakes):
        row = begin_regeneration(["chunk"])

        count = work_off(RegenerationWorker(), row)

        assert count == 1
        assert (row.state, row.due_artifact_count) == ("done", 3)
        assert wakes == [("sync_nodes", {"build_id": build.pk})]

    def test_finishes_if_its_unfinished_work_is_enqueued_again(self, three, build, wakes, settings):
        settings.STRATA_WORKER_RUN_SECONDS = 0
        row = begin_regeneration(["chunk"])

        count = work_off(RegenerationWorker(), row)

        assert count == 4  # one for each artifact, and one to find no more
        assert (row.state, row.done_count, row.due_node_count) == ("done", 3, 3)

    def test_returns_the_next_regeneration_once_one_is_finished(self, three, build, wakes):
        first, second = begin_regeneration(["chunk"], limit=1), begin_regeneration(["chunk"])

        assert RegenerationWorker().run(first.pk) == [second.pk]

    def test_skips_a_regeneration_that_another_thread_runs(self, three, build, wakes, monkeypatch):
        turn, others = RegenerationWorker(), []
        row = begin_regeneration(["chunk"])

        def look_meanwhile(*args):
            late = threading.Thread(target=lambda: others.append(turn.run(row.pk)))
            late.start()
            late.join()
            return False

        monkeypatch.setattr(
            tasks, "regenerate_next_artifacts", lambda *args, **kw: look_meanwhile()
        )
        turn.run(row.pk)

        assert others == [[]]

    def test_leaves_an_outage_to_the_reconciliation(self, three, build, monkeypatch):
        row = begin_regeneration(["chunk"])

        def refuse(*args):
            raise EmbeddingUnavailable("The model is away.")

        with monkeypatch.context() as patched:
            patched.setattr(job, "plan_nodes", refuse)
            assert RegenerationWorker().run(row.pk) == []
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("running", "The model is away.")

        tasks.reconcile_indexes()

        row.refresh_from_db()
        assert (row.state, row.done_count) == ("done", 3)

    def test_does_not_retry_an_unexpected_error_at_once(self, three, build, monkeypatch):
        def fail(*args):
            raise ZeroDivisionError

        monkeypatch.setattr(job, "plan_nodes", fail)
        row = begin_regeneration(["chunk"])

        assert RegenerationWorker().run(row.pk) == []
        row.refresh_from_db()
        assert (row.state, row.attempts) == ("running", 1)

    def test_stops_between_two_artifacts_on_a_stop_request(self, three, build, wakes, monkeypatch):
        turn = RegenerationWorker()
        plan = job.plan_nodes

        def stop_meanwhile(*args):
            turn.stop_requested.set()
            plan(*args)

        monkeypatch.setattr(job, "plan_nodes", stop_meanwhile)
        row = begin_regeneration(["chunk"])

        assert turn.run(row.pk) == []

        row.refresh_from_db()
        assert (row.done_count, row.attempts, row.lease_token) == (1, 0, None)
        assert turn.wait_idle(1)

    def test_enqueues_writing_if_texts_are_due(self, store, embedder, db, wakes, monkeypatch):
        reconciled = []
        monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: reconciled.append(True))
        wide = make_build("wide", **ALL_KINDS)
        write_all(wide, give(index="wide"))

        work_off(RegenerationWorker(), begin_regeneration(["chunk"], index="wide"))
        assert reconciled == []
        work_off(RegenerationWorker(), begin_regeneration(["summary"], index="wide"))
        assert reconciled == [True]


class TestReconcile:
    def test_finishes_an_abandoned_regeneration(self, three, build, embedder, monkeypatch):
        """Its worker dies, and nothing releases the lease."""
        monkeypatch.setattr(scope, "ROWS_PER_STEP", 1)
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        regenerate_next_artifacts(claimed, DueWork())
        embedder.embedded.clear()

        tasks.reconcile_indexes()
        row.refresh_from_db()
        assert (row.state, row.done_count) == ("running", 1)  # its worker may still live
        Regeneration.objects.update(leased_until=timezone.now() - timezone.timedelta(seconds=1))
        tasks.reconcile_indexes()

        row.refresh_from_db()
        assert (row.state, row.done_count, row.due_node_count) == ("done", 3, 3)
        assert len(embedder.embedded) == 3
        assert not Node.objects.exclude(state="synced").exists()

    def test_enqueues_no_finished_regeneration(self, build, monkeypatch):
        wakes = record_enqueued(monkeypatch, tasks.regenerate)
        row = begin_regeneration(["chunk"])
        Regeneration.objects.update(state="cancelled")

        tasks.reconcile_indexes()
        assert wakes == []
        Regeneration.objects.update(state="running")
        tasks.reconcile_indexes()
        assert wakes == [("regenerate", {"regeneration_id": str(row.pk)})]
