"""Celery tasks that decide requested promotions and measure evaluation runs."""

import logging
from uuid import UUID

from celery import shared_task

from core.exceptions import StrataError
from core.workers import Worker
from evaluation import promotion_gate, runs
from evaluation.exceptions import RunTakenOver
from evaluation.models import EvaluationRun
from indexing.tasks import reconcile_store

logger = logging.getLogger(__name__)


class WorkerStopRequested(Exception):
    """The worker was asked to stop."""


class PromotionWorker(Worker):
    """Decides requested promotions. A stop request ends it between two queries, undecided."""

    def run(self) -> bool:
        """Decide every requested promotion; return whether a build was promoted."""
        with self._try_acquire() as has_lock:
            return has_lock and self._decide_promotions()

    def _decide_promotions(self) -> bool:
        is_promoted = False
        for build in promotion_gate.find_builds_to_promote():
            try:
                is_promoted |= promotion_gate.decide_promotion(
                    build, before_each_query=self._raise_if_stop_requested
                )
            except WorkerStopRequested:
                break
            except StrataError as error:
                logger.warning("The promotion of %s waits: %s", build, error)
        return is_promoted

    def _raise_if_stop_requested(self) -> None:
        if self.stop_requested.is_set():
            raise WorkerStopRequested


class EvaluationWorker(Worker):
    """Measures one run after the other. A stop request ends it between two answers; the run starts
    again later."""

    def run(self, run_id: UUID) -> list[UUID]:
        """Measure a run; return the ids of the runs to measure next."""
        with self._try_acquire() as has_lock:
            # If another thread is working, it or the reconciliation enqueues the next run.
            is_blocked = not has_lock or not self._claim_and_measure(run_id)
        if is_blocked or self.stop_requested.is_set():
            return []  # the reconciliation enqueues the run again
        return list(EvaluationRun.objects.claimable().values_list("pk", flat=True)[:1])

    def _claim_and_measure(self, run_id: UUID) -> bool:
        """Measure a run if it is free; return False if the next run would fail, too."""
        run = runs.claim_run(run_id)
        if run is None:
            return True
        try:
            runs.measure_run(run, is_stop_requested=self.stop_requested.is_set)
        except StrataError as error:
            logger.warning("The evaluation %s waits: %s", run, error)
            return False
        except RunTakenOver:
            logger.info("Another worker has claimed the evaluation %s, or it was deleted", run)
        return True


promotion_worker = PromotionWorker()
evaluation_worker = EvaluationWorker()


@shared_task
def promote_builds() -> None:
    """Promote every requested build that is complete and not worse than the live one."""
    if promotion_worker.run():
        reconcile_store.delay()


@shared_task
def measure_run(*, run_id: str) -> None:
    """Measure a run, then enqueue the next waiting one."""
    for next_id in evaluation_worker.run(UUID(run_id)):
        measure_run.delay(run_id=str(next_id))


@shared_task
def reconcile_runs() -> None:
    """Enqueue a waiting run whose message was lost or whose worker died."""
    for run_id in EvaluationRun.objects.claimable().values_list("pk", flat=True)[:1]:
        measure_run.delay(run_id=str(run_id))
