"""Work that goes on until it is done: who does it, in what turn, and when it ends.

Every thread that takes a task for such work calls ``run`` of the same object; one of them works.
"""

import logging
import threading
import time
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from core.exceptions import StrataError
from core.workers import Worker
from documents.models import Artifact
from indexing.models import IndexBuild

logger = logging.getLogger(__name__)

PLAN_SLICE = 100  # artifacts planned between two looks at what else is to be done


Work = Callable[[IndexBuild, Callable[[], bool]], int]


class BuildWorker(Worker):
    """Works builds off turn by turn, one batch each.

    A second thread leaves its build in the round and goes. A stop request ends the round between
    two batches, or slices of one; so does ``STRATA_WORKER_RUN_SECONDS``, for other tasks to have
    their turn.
    """

    def __init__(self, work: Work, note: Callable[[IndexBuild, StrataError | None], None]) -> None:
        super().__init__()
        self._work = work  # one batch of a build; how much it brought further
        self._note = note  # what holds a build up
        self._waiting: list[int] = []

    def run(self, build_id: int) -> list[int]:
        """The builds that were not worked off in time; they are to be asked for again."""
        left: list[int] = []
        if build_id not in self._waiting:
            self._waiting.append(build_id)
        # Looked at again after letting go: a build that joined in between is not left behind.
        while self._waiting and not self.stop_requested.is_set():
            with self._turn() as is_ours:
                if not is_ours:
                    break
                left += self._work_off()
        return left

    def _work_off(self) -> list[int]:
        """Ends when nothing waits, or when the time is up: what waited then."""
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        while self._waiting and not self.stop_requested.is_set():
            build_id = self._next()
            build = IndexBuild.objects.working().filter(pk=build_id).first()
            if build is None:
                continue
            try:
                count = self._work(build, self.stop_requested.is_set)
            except StrataError as error:
                # The rows are as they were; the reconciliation asks for them again.
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


class PlanWorker:
    """Plans what a build lacks, a slice of artifacts after the other, by one thread of the
    process at a time. It ends where ``work``, for which it plans, ends."""

    def __init__(
        self,
        unplanned: Callable[[IndexBuild], QuerySet[Artifact]],
        plan: Callable[[UUID, IndexBuild], object],
        work: BuildWorker,
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
        while self._waiting and not self._work.stop_requested.is_set():
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
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        last: UUID | None = None
        while not self._work.stop_requested.is_set():
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
