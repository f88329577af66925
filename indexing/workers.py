"""Workers that process builds in batches."""

import logging
import time
from collections.abc import Callable

from core.exceptions import StrataError
from core.expected_errors import is_expected
from core.workers import BatchWorker
from indexing.exceptions import EmbeddingUnavailable, StoreBusy
from indexing.models import IndexBuild, IndexBuildQuerySet
from indexing.services import DocumentPlanner

logger = logging.getLogger(__name__)

BatchFunction = Callable[[IndexBuild, Callable[[], bool]], int]


class BuildWorker(BatchWorker[int]):
    """Processes queued builds, by id, one batch each in turn; live builds come first."""

    def __init__(
        self, work: BatchFunction, set_problem: Callable[[IndexBuild, StrataError | None], None]
    ) -> None:
        super().__init__()
        self._work = work  # one batch of a build; returns how much it has done
        self._set_problem = set_problem  # saves what blocks a build
        self._waits_until: dict[int, float] = {}  # build -> when it may work again

    def run_batch(self, key: int) -> bool:
        build = self.find_builds().filter(pk=key).first()
        if build is None or time.monotonic() < self._waits_until.get(key, 0.0):
            return False
        try:
            count = self._work(build, self.stop_requested.is_set)
        except StrataError as error:
            # The rows are unchanged; the reconciliation enqueues the work again.
            logger.warning("Work on %s waits: %s", build, error)
            self._set_problem(build, error)
            if isinstance(error, StoreBusy | EmbeddingUnavailable):
                self._waits_until[key] = time.monotonic() + (error.retry_after or 0.0)
            return False
        except Exception as error:  # it must not block the other builds
            if is_expected(error):
                logger.warning("Work on %s waits: %s", build, error)
            else:
                logger.exception("Work on %s failed unexpectedly", build)
            return False
        if count:
            self._set_problem(build, None)
        return count > 0

    def find_builds(self) -> IndexBuildQuerySet:
        return IndexBuild.objects.not_paused()

    def choose_next(self, keys: list[int]) -> int:
        if len(keys) == 1:
            return keys[0]
        live_ids = set(IndexBuild.objects.live().filter(pk__in=keys).values_list("pk", flat=True))
        return min(keys, key=lambda build_id: build_id not in live_ids)


class PlanWorker(BuildWorker):
    """Plans the due documents of builds. The planner of each keeps a partly planned document."""

    def __init__(
        self,
        set_problem: Callable[[IndexBuild, StrataError | None], None],
        after_batch: Callable[[IndexBuild], None],
    ) -> None:
        super().__init__(self._plan_batch, set_problem)
        self._planners: dict[int, DocumentPlanner] = {}
        self._after_batch = after_batch

    def run_batch(self, key: int) -> bool:
        is_unfinished = super().run_batch(key)
        if not is_unfinished:  # a paused build is planned again once its leases end
            self._planners.pop(key, None)
        return is_unfinished

    def may_pause(self) -> bool:
        return not any(planner.is_active for planner in self._planners.values())

    def _plan_batch(self, build: IndexBuild, should_stop: Callable[[], bool]) -> int:
        planner = self._planners.setdefault(build.pk, DocumentPlanner())
        count = planner.plan_next(build, should_stop)
        if count:
            self._after_batch(build)
        return count
