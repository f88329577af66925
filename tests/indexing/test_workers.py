import threading

import pytest
from django.utils import timezone

from indexing.exceptions import StoreUnavailable
from indexing.models import Index, IndexBuild
from indexing.services import DocumentPlanner
from indexing.services import planning as planning_service
from indexing.workers import BuildWorker, PlanWorker
from tests.factories import give, load_index
from tests.indexed import list_unplanned

pytestmark = pytest.mark.django_db


@pytest.fixture
def builds(build) -> list[IndexBuild]:
    """Two builds of different indexes."""
    return [build, load_index("library")]


class Batches:
    """Work of a given number of batches, which records each batch."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.done: list[int] = []

    def __call__(self, build, should_stop) -> int:
        self.done.append(build.pk)
        self.left -= 1
        return int(self.left > 0)


def ignore(build, error) -> None:
    pass


class TestBuildWorker:
    def test_works_until_nothing_is_left(self, builds):
        work = Batches(3)

        left = BuildWorker(work, ignore).run(builds[0].pk)

        assert work.done == [builds[0].pk] * 3
        assert left == []

    def test_returns_unfinished_builds_when_its_time_is_up(self, builds, settings):
        settings.STRATA_WORKER_RUN_SECONDS = 0
        work = Batches(3)
        turn = BuildWorker(work, ignore)

        left = turn.run(builds[0].pk)

        assert work.done == [builds[0].pk]
        assert left == [builds[0].pk]

    def test_finishes_if_unfinished_builds_are_enqueued_again(self, builds, settings):
        settings.STRATA_WORKER_RUN_SECONDS = 0
        work = Batches(3)
        turn = BuildWorker(work, ignore)

        tries = [turn.run(builds[0].pk) for _ in range(3)]

        assert tries == [[builds[0].pk], [builds[0].pk], []]

    def test_returns_builds_that_were_queued_meanwhile(self, builds, settings):
        settings.STRATA_WORKER_RUN_SECONDS = 0

        def join(build, should_stop):
            late = threading.Thread(target=turn.run, args=[builds[1].pk])
            late.start()
            late.join()  # it queues its build and returns
            return 0

        turn = BuildWorker(join, ignore)

        assert turn.run(builds[0].pk) == [builds[1].pk]

    def test_gives_the_next_turn_to_the_build_that_has_waited_longest(self, builds):
        first, second = (build.pk for build in builds)
        done = []

        def queue_both(build, should_stop):
            done.append(build.pk)
            if len(done) == 1:
                for key in (first, second):  # a planner queues more of the first one
                    late = threading.Thread(target=turn.run, args=[key])
                    late.start()
                    late.join()
            return int(len(done) < 3)

        turn = BuildWorker(queue_both, ignore)
        turn.run(first)

        assert done[:2] == [first, second]

    def test_says_that_another_build_waits_for_the_next_turn(self, builds):
        first, second = (build.pk for build in builds)
        awaited = []

        def queue_second(build, should_stop):
            awaited.append(turn.is_awaited(build.pk))
            if len(awaited) == 1:
                late = threading.Thread(target=turn.run, args=[second])
                late.start()
                late.join()
                awaited.append(turn.is_awaited(build.pk))
            return 0

        turn = BuildWorker(queue_second, ignore)
        turn.run(first)

        assert awaited == [False, True, False]

    def test_lets_no_standby_build_interrupt_a_live_one(self, builds):
        live, standby = (build.pk for build in builds)
        Index.objects.filter(pk=builds[1].index_id).update(live_build=None)
        awaited = []

        def queue_standby(build, should_stop):
            if build.pk == live:
                late = threading.Thread(target=turn.run, args=[standby])
                late.start()
                late.join()
                awaited.append(turn.is_awaited(live))
            return 0

        turn = BuildWorker(queue_standby, ignore)
        turn.run(live)

        assert awaited == [False]

    def test_stores_the_blocking_error_and_enqueues_nothing(self, builds):
        def fail(build, should_stop):
            raise StoreUnavailable("Away.")

        noted = []
        turn = BuildWorker(fail, lambda build, error: noted.append((build, str(error))))

        assert turn.run(builds[0].pk) == []
        assert noted == [(builds[0], "Away.")]

    def test_starts_nothing_after_a_stop_request(self, builds):
        work = Batches(3)
        turn = BuildWorker(work, ignore)
        turn.stop_requested.set()

        assert turn.run(builds[0].pk) == []
        assert work.done == []


@pytest.fixture
def planned():
    """The build of each planned batch."""
    return []


@pytest.fixture
def planning(monkeypatch, planned):
    """A worker that plans two documents at a time."""
    monkeypatch.setattr(planning_service, "DOCUMENTS_PER_CLAIM", 2)
    return PlanWorker(ignore, lambda build: planned.append(build.pk))


class TestPlanWorker:
    def test_plans_all_documents_of_the_build(self, build, planning, planned):
        for number in range(3):
            give(f"Heron number {number}.", title=f"Heron {number}")

        left = planning.run(build.pk)

        assert left == []
        assert not list_unplanned(build)
        assert planned == [build.pk, build.pk]  # once each batch of two

    def test_is_enqueued_again_when_its_time_is_up(self, build, planning, settings):
        settings.STRATA_WORKER_RUN_SECONDS = 0
        for number in range(3):
            give(f"Heron number {number}.", title=f"Heron {number}")

        left = planning.run(build.pk)

        assert left == [build.pk]
        assert len(list_unplanned(build)) == 1

    def test_plans_a_build_that_is_queued_meanwhile(self, build, planning, monkeypatch):
        other = load_index("library")
        give("One heron.")
        give("Two herons.", index=other.index_id)
        plan_next = DocumentPlanner.plan_next

        def plan_and_join(planner, given, should_stop):
            if given == build:
                thread = threading.Thread(target=planning.run, args=[other.pk])
                thread.start()
                thread.join()
            return plan_next(planner, given, should_stop)

        monkeypatch.setattr(DocumentPlanner, "plan_next", plan_and_join)
        planning.run(build.pk)

        assert not list_unplanned(other)

    def test_plans_other_indexes_between_long_documents(
        self, build, planning, planned, monkeypatch
    ):
        monkeypatch.setattr(planning_service, "BYTES_PER_CLAIM", 1, raising=False)
        other = load_index("library")
        for number in range(4):
            give(f"Heron number {number}.")
        give("Two herons.", index=other.index_id)
        plan_next = DocumentPlanner.plan_next

        def plan_and_join(planner, given, should_stop):
            if not planned:
                thread = threading.Thread(target=planning.run, args=[other.pk])
                thread.start()
                thread.join()
            return plan_next(planner, given, should_stop)

        monkeypatch.setattr(DocumentPlanner, "plan_next", plan_and_join)
        planning.run(build.pk)

        assert planned == [build.pk, other.pk, build.pk, build.pk, build.pk]

    def test_drops_a_build_that_is_paused_during_its_work(self, build, planning, monkeypatch):
        monkeypatch.setattr(planning_service, "LARGE_BYTES", 1)
        monkeypatch.setattr(planning_service, "DRAFTS_PER_PART", 1)
        give("\n\n".join(f"Heron number {n} waits. " * 20 for n in range(5)))
        planning.run_batch(build.pk)
        assert not planning.may_pause()
        IndexBuild.objects.filter(pk=build.pk).update(paused_at=timezone.now())

        planning.run_batch(build.pk)

        assert planning.may_pause()

    def test_ignores_a_paused_build(self, build, planning):
        give("One heron.")
        IndexBuild.objects.filter(pk=build.pk).update(paused_at=timezone.now())

        planning.run(build.pk)

        assert len(list_unplanned(build)) == 1
