"""Celery entry points for indexing: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

import logging
import threading
import time
from collections.abc import Callable
from uuid import UUID

from celery import current_app, shared_task
from django.conf import settings
from django.db.models import QuerySet

from documents.exceptions import StrataError
from documents.models import Artifact
from indexing import changes, promotion, removal, services, verification
from indexing.kinds import unplanned_artifacts
from indexing.models import IndexBuild, Node, Regeneration
from indexing.regeneration import (
    Due,
    claim_regeneration,
    regenerate_slice,
    release_regeneration,
)

logger = logging.getLogger(__name__)

PLAN_SLICE = 100  # artifacts planned between two looks at what else is to be done


Work = Callable[[IndexBuild, Callable[[], bool]], int]


class BuildRound:
    """Works builds off turn by turn, one batch each, by one thread of the process at a time.

    A second thread would only fight the first for the same cores; it leaves its build in the
    round and goes. A stop request ends the round between two batches, or slices of one; so does
    ``STRATA_ROUND_SECONDS``, for other tasks to have their turn.
    """

    def __init__(self, work: Work, note: Callable[[IndexBuild, StrataError | None], None]) -> None:
        self._work = work  # one batch of a build; how much it brought further
        self._note = note  # what holds a build up
        self._waiting: list[int] = []
        self._working = threading.Lock()
        self.is_stopping = threading.Event()

    def run(self, build_id: int) -> list[int]:
        """The builds that were not worked off in time; they are to be asked for again."""
        left: list[int] = []
        if build_id not in self._waiting:
            self._waiting.append(build_id)
        # Looked at again after letting go: a build that joined in between is not left behind.
        while self._waiting and not self.is_stopping.is_set():
            if not self._working.acquire(blocking=False):
                break
            try:
                left += self._work_off()
            finally:
                self._working.release()
        return left

    def wait_idle(self, timeout: float) -> bool:
        """Whether the batch under way was finished, or given back, within ``timeout`` seconds."""
        if not self._working.acquire(timeout=timeout):
            return False
        self._working.release()
        return True

    def _work_off(self) -> list[int]:
        """Ends when nothing waits, or when the time is up: what waited then."""
        deadline = time.monotonic() + settings.STRATA_ROUND_SECONDS
        while self._waiting and not self.is_stopping.is_set():
            build_id = self._next()
            build = IndexBuild.objects.working().filter(pk=build_id).first()
            if build is None:
                continue
            try:
                count = self._work(build, self.is_stopping.is_set)
            except StrataError as error:
                # The rows are as they were; the sweep asks for them again.
                logger.warning("Work on %s waits: %s", build, error)
                self._note(build, error)
                continue
            self._note(build, None)
            if count and build_id not in self._waiting:
                self._waiting.append(build_id)
            if time.monotonic() >= deadline:
                left = self._waiting[:]
                del self._waiting[: len(left)]
                return left
        return []

    def _next(self) -> int:
        """The build to work on: a live one before any that no one searches yet."""
        waiting = self._waiting[:]
        chosen = waiting[0]
        if len(waiting) > 1:
            live = IndexBuild.objects.live().filter(pk__in=waiting)
            searched = set(live.values_list("pk", flat=True))
            chosen = min(waiting, key=lambda build_id: build_id not in searched)
        self._waiting.remove(chosen)
        return chosen


class PlanRound:
    """Plans what a build lacks, a slice of artifacts after the other, by one thread of the
    process at a time. It ends where ``work``, for which it plans, ends."""

    def __init__(
        self,
        unplanned: Callable[[IndexBuild], QuerySet[Artifact]],
        plan: Callable[[UUID, IndexBuild], object],
        work: BuildRound,
        wake: Callable[[int], None],
    ) -> None:
        self._unplanned = unplanned
        self._plan = plan
        self._work = work
        self._wake = wake
        self._waiting: list[int] = []
        self._planning = threading.Lock()

    def run(self, build_id: int) -> list[int]:
        """The builds that were not planned in time; they are to be asked for again."""
        left = []
        if build_id not in self._waiting:
            self._waiting.append(build_id)
        # As with a round of work: who finds another at it leaves its build to that one.
        while self._waiting and not self._work.is_stopping.is_set():
            if not self._planning.acquire(blocking=False):
                break
            try:
                while self._waiting:
                    next_id = self._waiting.pop(0)
                    if not self._plan_slices(next_id):
                        left.append(next_id)
            finally:
                self._planning.release()
        return left

    def _plan_slices(self, build_id: int) -> bool:
        """Whether nothing is left of it, or not while the worker stops."""
        deadline = time.monotonic() + settings.STRATA_ROUND_SECONDS
        last: UUID | None = None
        while not self._work.is_stopping.is_set():
            build = IndexBuild.objects.working().filter(pk=build_id).first()
            if build is None:
                return True
            unplanned = self._unplanned(build).order_by("pk")
            if last is not None:
                unplanned = unplanned.filter(pk__gt=last)
            artifact_ids = list(unplanned.values_list("pk", flat=True)[:PLAN_SLICE])
            if not artifact_ids:
                return True
            for artifact_id in artifact_ids:
                self._plan(artifact_id, build)
            last = artifact_ids[-1]
            self._wake(build_id)
            if time.monotonic() >= deadline:
                return False
        return True


class RegenerationRound:
    """Goes through a regeneration, slice by slice, by one thread of the process at a time; a stop
    request or ``STRATA_ROUND_SECONDS`` end it between two artifacts."""

    def __init__(self) -> None:
        self._working = threading.Lock()
        self.is_stopping = threading.Event()

    def run(self, regeneration_id: UUID) -> list[UUID]:
        """What to go on with: the same where the time was up, the next one where it is over."""
        if not self._working.acquire(blocking=False):
            return []  # a thread of this process is at one; it names the next, or the sweep does
        try:
            return self._go_through(regeneration_id)
        finally:
            self._working.release()

    def wait_idle(self, timeout: float) -> bool:
        """Whether the artifact under way was finished within ``timeout`` seconds."""
        if not self._working.acquire(timeout=timeout):
            return False
        self._working.release()
        return True

    def _go_through(self, regeneration_id: UUID) -> list[UUID]:
        deadline = time.monotonic() + settings.STRATA_ROUND_SECONDS
        regeneration = claim_regeneration(regeneration_id)
        if regeneration is None:
            return []

        def should_stop() -> bool:
            return self.is_stopping.is_set() or time.monotonic() >= deadline

        due = Due()
        try:
            while regenerate_slice(regeneration, due, should_stop=should_stop):
                _settle_due(due)
                if should_stop():
                    release_regeneration(regeneration)
                    return [] if self.is_stopping.is_set() else [regeneration_id]
        except StrataError as error:
            # It is as far as its row says; the sweep asks for it again.
            logger.warning("%s waits: %s", regeneration, error)
            return []
        except Exception:
            logger.warning("%s met with a defect", regeneration, exc_info=True)
            return []
        finally:
            _settle_due(due)
            if due.text_count:
                wake_sweeps()  # whoever has them written
        following = Regeneration.objects.claimable().values_list("pk", flat=True)[:1]
        return list(following)


def _settle_due(due: Due) -> None:
    for build_id in due.builds:
        settle.delay(build_id=build_id)
    due.builds.clear()


def _settle(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    count = services.settle_nodes(build, should_stop=should_stop)
    if not count:
        changes.resolve_changes(most=changes.SLICE)  # the sweep looks at all
    return count


def _plan(artifact_id: UUID, build: IndexBuild, kinds: list[str] | None = None) -> None:
    try:
        services.plan_nodes(artifact_id, build, kinds)
    except StrataError as error:
        # The sweep asks for it again; the other builds have their turn meanwhile.
        logger.warning("Planning %s for %s waits: %s", artifact_id, build, error)
        services.note_problem(build, error)


settling = BuildRound(_settle, services.note_problem)
planning = PlanRound(
    unplanned_artifacts, _plan, settling, lambda build_id: settle.delay(build_id=build_id)
)
regenerating = RegenerationRound()


@shared_task
def plan_nodes(*, artifact_id: str, kinds: list[str] | None = None) -> None:
    """Bring the ledger of every build that it concerns up to date with one artifact, or with
    its nodes of some kinds."""
    for build in IndexBuild.objects.concerned_with(UUID(artifact_id)).working():
        _plan(UUID(artifact_id), build, kinds)
        if (
            Node.objects.filter(build=build, artifact=UUID(artifact_id))
            .exclude(state=Node.State.SETTLED)
            .exists()
        ):
            settle.delay(build_id=build.pk)


@shared_task
def plan_build(*, build_id: int) -> None:
    """Bring the ledger of one build up to date with the artifacts it does not mirror yet."""
    for left_id in planning.run(build_id):
        plan_build.delay(build_id=left_id)


@shared_task
def settle(*, build_id: int) -> None:
    """Settle a build, and come again where that takes longer than a round."""
    for left_id in settling.run(build_id):
        settle.delay(build_id=left_id)


@shared_task
def regenerate(*, regeneration_id: str) -> None:
    """Go through a regeneration, and come again where that takes longer than a round."""
    for left_id in regenerating.run(UUID(regeneration_id)):
        regenerate.delay(regeneration_id=str(left_id))


@shared_task
def sweep_indexes() -> None:
    """Wake whatever the rows say is not settled: lost messages, bulk writes, dead workers."""
    promotion.pause_overdue()
    for build in IndexBuild.objects.working():
        for artifact_id in services.audit_documents(build):
            plan_nodes.delay(artifact_id=str(artifact_id))
        if unplanned_artifacts(build).exists():
            plan_build.delay(build_id=build.pk)
        if Node.objects.unsettled(build).exists() or Node.objects.removable(build).exists():
            settle.delay(build_id=build.pk)
    for regeneration_id in Regeneration.objects.claimable().values_list("pk", flat=True):
        regenerate.delay(regeneration_id=str(regeneration_id))
    changes.resolve_changes()
    tidy_store.delay()


@shared_task
def tidy_store() -> None:
    """Remove what builds that were given up left, and mend what a slow store did too late;
    publish which builds are live.

    Where the store is open to every worker; the embedded one is the process's own.
    """
    try:
        promotion.remove_retired()
        removal.go_on_removing()
        promotion.publish_aliases()
        for build in IndexBuild.objects.working():
            if count := verification.remove_orphans(build):
                logger.warning("%d points of %s had no row in the ledger; removed", count, build)
            if count := verification.resolve_doubts(build):
                logger.warning("%d points of %s came or went too late; mended", count, build)
                settle.delay(build_id=build.pk)
    except StrataError as error:
        logger.warning("Tidying the vector store waits: %s", error)


@shared_task
def verify_build(*, build_id: int, repair: bool) -> None:
    """Verify a build, and keep the report with it."""
    build = IndexBuild.objects.receiving().filter(pk=build_id).first()
    if build is None:
        return
    try:
        verification.keep_report(build, repair=repair)
    except StrataError as error:
        logger.warning("%s cannot be verified: %s", build, error)
        return
    if repair:
        sweep_indexes.delay()


def wake_sweeps() -> None:
    """Have every app look now at what its rows say is undone, and not within the minute."""
    for entry in current_app.conf.beat_schedule.values():
        current_app.tasks[entry["task"]].delay()
