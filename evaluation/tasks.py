"""Celery tasks that decide requested promotions and measure evaluation runs."""

import logging
from uuid import UUID

from celery import shared_task

from core.exceptions import StrataError
from core.workers import Worker
from evaluation import promotion_gate, runs
from evaluation.exceptions import RunTakenOver, StopRequested
from evaluation.models import EvaluationRun
from indexing.tasks import reconcile_store

logger = logging.getLogger(__name__)


class MeasuringWorker(Worker):
    """A stop request ends it between two queries."""

    def _raise_if_stop_requested(self) -> None:
        if self.stop_requested.is_set():
            raise StopRequested


class PromotionWorker(MeasuringWorker):
    """Decides requested promotions. Those that a stop request interrupts stay undecided."""

    def run(self) -> bool:
        """Decide every requested promotion; return whether a build was promoted."""
        is_promoted = False
        builds = promotion_gate.find_builds_to_promote().order_by("pk")
        with self._try_acquire() as has_lock:
            for build in builds if has_lock else ():
                try:
                    is_promoted |= promotion_gate.decide_promotion(
                        build, before_each_answer=self._raise_if_stop_requested
                    )
                except StopRequested:
                    break
                except StrataError as error:
                    logger.warning("The promotion of %s waits: %s", build, error)
        return is_promoted


class EvaluationWorker(MeasuringWorker):
    """Measures one run at a time. One that a stop request interrupts starts again later."""

    def run(self, run_id: UUID) -> bool:
        """Measure a run if it is free; return whether the next one can be measured now. If another
        thread is working, it goes on to the next run."""
        with self._try_acquire() as has_lock:
            return has_lock and self._measure(run_id) and not self.stop_requested.is_set()

    def _measure(self, run_id: UUID) -> bool:
        """Return False if the next run would fail, too."""
        run = runs.claim_run(run_id)
        if run is None:
            return True
        try:
            runs.measure_run(run, before_each_answer=self._raise_if_stop_requested)
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
    if evaluation_worker.run(UUID(run_id)):
        reconcile_runs()


@shared_task
def reconcile_runs() -> None:
    """Enqueue the next waiting run, whose message may have been lost or whose worker died."""
    for run_id in EvaluationRun.objects.claimable().values_list("pk", flat=True)[:1]:
        measure_run.delay(run_id=str(run_id))
