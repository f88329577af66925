"""Rows that wait for work, and claims by which one worker holds some of them for a limited time.

A claim counts an attempt before the work starts, and lasts until a time on the database's clock.
It is renewed while the work goes on. Every update that ends the work filters by the claim's token,
so a worker that lost its claim changes nothing.
"""

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, Self, TypeVar, cast

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from core.exceptions import StrataError
from core.expected_errors import is_expected
from core.server_paths import hide_server_paths

logger = logging.getLogger(__name__)

# A row with this many attempts is claimed alone, so that other rows do not fail with it.
ATTEMPTS_BEFORE_ISOLATION = 2
WORKER_DIED = "Its worker died at each attempt."
NO_LEASE: dict[str, Any] = {"lease_token": None, "leased_until": None}
FRESH: dict[str, Any] = {"attempts": 0, "last_error": "", **NO_LEASE}  # of a row that is due again


class LeasedRow(models.Model):
    """Columns of a row that workers claim. A subclass has a ``state``."""

    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)

    given_up_state = "failed"

    class Meta:
        abstract = True

    @classmethod
    def max_attempts(cls) -> int:
        attempts: int = settings.STRATA_MAX_ATTEMPTS
        return attempts

    def get_claim(self) -> "Claim[Self]":
        """The claim under which this row was read."""
        assert self.lease_token is not None
        return Claim(type(self), self.lease_token)


def index_of_leases(name: str) -> models.Index:
    """An index of the rows that are held: a claim finds its rows by their token."""
    return models.Index(fields=["lease_token"], name=name, condition=Q(lease_token__isnull=False))


Row = TypeVar("Row", bound=LeasedRow)


@dataclass(frozen=True, slots=True)
class Claim(Generic[Row]):
    """Rows that one worker holds; ``token`` proves that it still does."""

    model: type[Row]
    token: uuid.UUID

    @property
    def rows(self) -> "LeasedQuerySet[Row]":
        """The rows that are still held."""
        rows: Any = self.model._default_manager.filter(lease_token=self.token)
        return cast("LeasedQuerySet[Row]", rows)

    def give_back(self, error: str = "") -> None:
        """Release the rows still held, without counting the attempt."""
        self.rows.filter(attempts__gt=0).update(attempts=F("attempts") - 1)
        self.rows.update(last_error=error, **NO_LEASE)

    def charge(self, error: Exception, **only: Any) -> None:
        """Release the rows still held, or those of them that match ``only``; save the error on them
        and give up those that have no attempts left. The error is not raised again: it must not
        stop other work."""
        logger.warning("Work on %s failed", self.model._meta.verbose_name_plural, exc_info=error)
        rows = self.rows.filter(**only)
        rows.filter(attempts__gte=self.model.max_attempts()).update(state=self.model.given_up_state)
        rows.update(last_error=describe_error(error), **NO_LEASE)

    def renew(self, **values: Any) -> int:
        """Extend the lease and set ``values``; return how many rows are still held."""
        return self.rows.update(leased_until=_lease_expiry(), **values)

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the claim until the block ends, from a thread: the work may be one long call."""
        is_over = threading.Event()

        def renew() -> None:
            try:
                while not is_over.wait(settings.STRATA_LEASE_SECONDS / 3):
                    try:
                        self.renew()
                    except DatabaseError as error:
                        logger.warning("A lease could not be renewed: %s", error)
            finally:
                connection.close()  # the thread's own connection, opened by its first update

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Renew the claim until the block ends, then release the rows still held.

        An expected error restores the attempts and is raised. Any other costs an attempt, is saved
        on the rows and logged, but not raised: it must not stop other work.
        """
        try:
            with self.renewed():
                yield
        except Exception as error:
            if is_expected(error):
                self.give_back(describe_error(error))
                raise
            self.charge(error)
        else:
            self.rows.update(**NO_LEASE)


class LeasedQuerySet(models.QuerySet[Row]):
    def free(self) -> Self:
        """Rows that no worker holds.

        No lease lasts as long as twice ``STRATA_LEASE_SECONDS``: one that seems to was taken before
        the clock was set back, and its worker may be dead. If it lives, it loses the claim, or has
        renewed it.
        """
        too_late = Now() + timedelta(seconds=2 * settings.STRATA_LEASE_SECONDS)
        return self.filter(
            Q(leased_until=None) | Q(leased_until__lt=Now()) | Q(leased_until__gt=too_late)
        )

    def claim(self, limit: int | None = None, **values: Any) -> Claim[Row] | None:
        """Claim the rows of this query that no worker holds; None if there are none.

        With a limit, claims the first ``limit`` rows of the query and skips those that another
        transaction has locked; without one, claims all. Counts an attempt for each, and sets
        ``values``.
        """
        claim: Claim[Row] = Claim(self.model, uuid.uuid4())
        with transaction.atomic():
            rows = self.free()
            if connection.features.has_select_for_update_of:
                rows = rows.select_for_update(skip_locked=limit is not None, of=("self",))
            ids = list(rows.values_list("pk", flat=True)[:limit])
            if not ids:
                return None
            self.model._default_manager.filter(pk__in=ids).update(
                attempts=F("attempts") + 1,
                lease_token=claim.token,
                leased_until=_lease_expiry(),
                **values,
            )
        return claim

    def claim_batch(self, limit: int) -> Claim[Row] | None:
        """Claim up to ``limit`` rows. Rows that failed repeatedly are claimed last, one at a
        time."""
        fresh = self.filter(attempts__lt=ATTEMPTS_BEFORE_ISOLATION)
        suspect = self.filter(attempts__lt=self.model.max_attempts())
        return fresh.claim(limit) or suspect.claim(1)

    def give_up_exhausted(self) -> int:
        """Give up the free rows whose worker died during their last attempt; return how many."""
        exhausted = self.free().filter(attempts__gte=self.model.max_attempts())
        return exhausted.update(state=self.model.given_up_state, last_error=WORKER_DIED)

    def release_leases(self) -> int:
        """Release every lease. Only for a process that is the only worker."""
        return self.filter(lease_token__isnull=False).update(**NO_LEASE)


def release_all_leases() -> None:
    """Release the leases of every table. Only for a process that is the only worker."""
    for model in apps.get_models():
        if issubclass(model, LeasedRow):
            model._default_manager.release_leases()  # type: ignore[attr-defined]


def _lease_expiry() -> Any:
    """Expression for when a lease taken now expires, on the database's clock."""
    return Now() + timedelta(seconds=settings.STRATA_LEASE_SECONDS)


def describe_error(error: BaseException) -> str:
    """As it is stored on rows, which are shown to those who may read them."""
    return hide_server_paths(
        error.with_fix() if isinstance(error, StrataError) else f"{type(error).__name__}: {error}"
    )
