"""Celery entry points for what rests on searching: service calls, nothing out."""

import logging
from uuid import UUID

from celery import shared_task

from core.exceptions import StrataError
from core.workers import Worker
from evaluation import gate, runs
from evaluation.exceptions import RunTakenOver
from evaluation.models import EvaluationRun
from indexing.tasks import tidy_store

logger = logging.getLogger(__name__)


class Stopping(Exception):
    """The worker was asked to stop."""


class PromotionWorker(Worker):
    """Decides about the builds that are to be promoted. A stop request ends it between two
    queries; nothing is decided then."""

    def run(self) -> bool:
        """Whether a build was promoted."""
        with self._turn() as is_ours:
            return is_ours and self._decide()

    def _decide(self) -> bool:
        is_promoted = False
        for build in gate.asked_builds():
            try:
                is_promoted |= gate.promote_asked(build, before_each=self._heed_stop)
            except Stopping:
                break
            except StrataError as error:
                logger.warning("The promotion of %s waits: %s", build, error)
        return is_promoted

    def _heed_stop(self) -> None:
        if self.stop_requested.is_set():
            raise Stopping


class EvaluationWorker(Worker):
    """Measures one run after the other. A stop request ends it between two answers; the run is
    begun anew later."""

    def run(self, run_id: UUID) -> list[UUID]:
        """What to measure next."""
        with self._turn() as is_ours:
            # Whoever is at one names the next, or the reconciliation does.
            is_held_up = not is_ours or not self._measure(run_id)
        if is_held_up or self.stop_requested.is_set():
            return []  # the reconciliation asks again
        return list(EvaluationRun.objects.claimable().values_list("pk", flat=True)[:1])

    def _measure(self, run_id: UUID) -> bool:
        """Whether nothing held it up that would hold up the next as well."""
        run = runs.claim_run(run_id)
        if run is None:
            return True
        try:
            runs.measure_run(run, should_stop=self.stop_requested.is_set)
        except StrataError as error:
            logger.warning("The evaluation %s waits: %s", run, error)
            return False
        except RunTakenOver:
            logger.info("The evaluation %s is not ours any more", run)
        return True


promoting = PromotionWorker()
evaluating = EvaluationWorker()


@shared_task
def promote_builds() -> None:
    """Promote what is asked to be, once it is whole and loses nothing by it."""
    if promoting.run():
        tidy_store.delay()


@shared_task
def measure_run(*, run_id: str) -> None:
    """Measure what was asked for, and then what else waits."""
    for next_id in evaluating.run(UUID(run_id)):
        measure_run.delay(run_id=str(next_id))


@shared_task
def reconcile_runs() -> None:
    """Wake what waits to be measured: lost messages, dead workers."""
    for run_id in EvaluationRun.objects.claimable().values_list("pk", flat=True)[:1]:
        measure_run.delay(run_id=str(run_id))
