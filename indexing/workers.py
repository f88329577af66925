"""Workers that process builds in batches, one thread at a time, until done, stopped or out of time.

Every task thread calls ``run`` of the same object; one thread works, the others add to its queue.
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

ARTIFACTS_PER_PLAN_BATCH = 100  # artifacts planned between two looks at what else is to be done


BatchFunction = Callable[[IndexBuild, Callable[[], bool]], int]


class BuildWorker(Worker):
    """Processes queued builds in turn, one batch each.

    If another thread is working, ``run`` queues its build and returns. A stop request ends the
    work between two batches or parts of one; so does ``STRATA_WORKER_RUN_SECONDS``, so that
    other tasks can run.
    """

    def __init__(
        self, work: BatchFunction, set_problem: Callable[[IndexBuild, StrataError | None], None]
    ) -> None:
        super().__init__()
        self._run_batch = work  # one batch of a build; how much it brought further
        self._set_problem = set_problem  # what holds a build up
        self._queued_build_ids: list[int] = []

    def run(self, build_id: int) -> list[int]:
        """Work on this build; return the unfinished builds, which must be enqueued again."""
        unfinished_ids: list[int] = []
        if build_id not in self._queued_build_ids:
            self._queued_build_ids.append(build_id)
        # Looked at again after letting go: a build that joined in between is not left behind.
        while self._queued_build_ids and not self.stop_requested.is_set():
            with self._try_acquire() as is_ours:
                if not is_ours:
                    break
                unfinished_ids += self._run_batches()
        return unfinished_ids

    def _run_batches(self) -> list[int]:
        """Run batches until no build is queued or time is up; return the builds still queued."""
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        while self._queued_build_ids and not self.stop_requested.is_set():
            build_id = self._pop_next_build_id()
            build = IndexBuild.objects.not_paused().filter(pk=build_id).first()
            if build is None:
                continue
            try:
                count = self._run_batch(build, self.stop_requested.is_set)
            except StrataError as error:
                # The rows are as they were; the reconciliation asks for them again.
                logger.warning("Work on %s waits: %s", build, error)
                self._set_problem(build, error)
                continue
            self._set_problem(build, None)
            if count and build_id not in self._queued_build_ids:
                self._queued_build_ids.append(build_id)
            if time.monotonic() >= deadline:
                unfinished_ids = self._queued_build_ids[:]
                del self._queued_build_ids[: len(unfinished_ids)]
                return unfinished_ids
        return []

    def _pop_next_build_id(self) -> int:
        """The build to work on: a live one before any that no one searches yet."""
        waiting = self._queued_build_ids[:]
        chosen = waiting[0]
        if len(waiting) > 1:
            live = IndexBuild.objects.live().filter(pk__in=waiting)
            live_ids = set(live.values_list("pk", flat=True))
            chosen = min(waiting, key=lambda build_id: build_id not in live_ids)
        self._queued_build_ids.remove(chosen)
        return chosen


class PlanWorker:
    """Plans the unplanned artifacts of a build in batches, one thread of the process at a time.
    It stops when ``work`` is told to stop."""

    def __init__(
        self,
        find_unplanned: Callable[[IndexBuild], QuerySet[Artifact]],
        plan: Callable[[UUID, IndexBuild], object],
        work: BuildWorker,
        enqueue_sync: Callable[[int], None],
    ) -> None:
        self._find_unplanned = find_unplanned
        self._plan = plan
        self._run_batch = work
        self._enqueue_sync = enqueue_sync
        self._queued_build_ids: list[int] = []
        self._lock = threading.Lock()

    def run(self, build_id: int) -> list[int]:
        """Plan this build; return the unfinished builds, which must be enqueued again."""
        unfinished_ids = []
        if build_id not in self._queued_build_ids:
            self._queued_build_ids.append(build_id)
        # As with a round of work: who finds another at it leaves its build to that one.
        while self._queued_build_ids and not self._run_batch.stop_requested.is_set():
            if not self._lock.acquire(blocking=False):
                break
            try:
                while self._queued_build_ids:
                    next_id = self._queued_build_ids.pop(0)
                    if not self._plan_batches(next_id):
                        unfinished_ids.append(next_id)
            finally:
                self._lock.release()
        return unfinished_ids

    def _plan_batches(self, build_id: int) -> bool:
        """Plan a build in batches; False if time ran out before it was finished."""
        deadline = time.monotonic() + settings.STRATA_WORKER_RUN_SECONDS
        last: UUID | None = None
        while not self._run_batch.stop_requested.is_set():
            build = IndexBuild.objects.not_paused().filter(pk=build_id).first()
            if build is None:
                return True
            unplanned = self._find_unplanned(build).order_by("pk")
            if last is not None:
                unplanned = unplanned.filter(pk__gt=last)
            artifact_ids = list(unplanned.values_list("pk", flat=True)[:ARTIFACTS_PER_PLAN_BATCH])
            if not artifact_ids:
                return True
            for artifact_id in artifact_ids:
                self._plan(artifact_id, build)
            last = artifact_ids[-1]
            self._enqueue_sync(build_id)
            if time.monotonic() >= deadline:
                return False
        return True
