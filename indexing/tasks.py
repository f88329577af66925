"""Celery entry points for indexing: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

import logging
import threading
from collections.abc import Callable
from uuid import UUID

from celery import current_app, shared_task

from documents.exceptions import StrataError
from indexing import services
from indexing.kinds import unplanned_artifacts
from indexing.models import IndexBuild, Node

logger = logging.getLogger(__name__)

SWEEP_LIMIT = 1_000  # artifacts a sweep wakes, per build


Work = Callable[[IndexBuild, Callable[[], bool]], int]


class BuildRound:
    """Works builds off turn by turn, one batch each, by one thread of the process at a time.

    A second thread would only fight the first for the same cores; it leaves its build in the
    round and goes. A stop request ends the round between two batches, or slices of one.
    """

    def __init__(self, work: Work, note: Callable[[IndexBuild, StrataError | None], None]) -> None:
        self._work = work  # one batch of a build; how much it brought further
        self._note = note  # what holds a build up
        self._waiting: list[int] = []
        self._working = threading.Lock()
        self.is_stopping = threading.Event()

    def run(self, build_id: int) -> None:
        if build_id not in self._waiting:
            self._waiting.append(build_id)
        # Looked at again after letting go: a build that joined in between is not left behind.
        while self._waiting and not self.is_stopping.is_set():
            if not self._working.acquire(blocking=False):
                return
            try:
                self._work_off()
            finally:
                self._working.release()

    def wait_idle(self, timeout: float) -> bool:
        """Whether the batch under way was finished, or given back, within ``timeout`` seconds."""
        if not self._working.acquire(timeout=timeout):
            return False
        self._working.release()
        return True

    def _work_off(self) -> None:
        while self._waiting and not self.is_stopping.is_set():
            build_id = self._waiting.pop(0)
            build = IndexBuild.objects.receiving().filter(pk=build_id).first()
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


def _settle(build: IndexBuild, should_stop: Callable[[], bool]) -> int:
    return services.settle_nodes(build, should_stop=should_stop)


settling = BuildRound(_settle, services.note_problem)


@shared_task
def plan_nodes(*, artifact_id: str, kinds: list[str] | None = None) -> None:
    """Bring the ledger of every build that it concerns up to date with one artifact, or with
    its nodes of some kinds."""
    for build in IndexBuild.objects.concerned_with(UUID(artifact_id)):
        try:
            services.plan_nodes(UUID(artifact_id), build, kinds)
        except StrataError as error:
            # The sweep asks for it again; the other builds have their turn meanwhile.
            logger.warning("Planning %s for %s waits: %s", artifact_id, build, error)
            services.note_problem(build, error)
            continue
        if (
            Node.objects.filter(build=build, artifact=UUID(artifact_id))
            .exclude(state=Node.State.SETTLED)
            .exists()
        ):
            settle.delay(build_id=build.pk)


@shared_task
def settle(*, build_id: int) -> None:
    """Settle a build until nothing is left."""
    settling.run(build_id)


@shared_task
def sweep_indexes() -> None:
    """Wake whatever the rows say is not settled: lost messages, bulk writes, dead workers."""
    for build in IndexBuild.objects.receiving():
        unplanned = unplanned_artifacts(build).values_list("pk", flat=True)[:SWEEP_LIMIT]
        for artifact_id in {*unplanned, *services.audit_documents(build)}:
            plan_nodes.delay(artifact_id=str(artifact_id))
        if Node.objects.unsettled(build).exists() or Node.objects.removable(build).exists():
            settle.delay(build_id=build.pk)


def wake_sweeps() -> None:
    """Have every app look now at what its rows say is undone, and not within the minute."""
    for entry in current_app.conf.beat_schedule.values():
        current_app.tasks[entry["task"]].delay()
