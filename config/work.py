"""What waits, what failed and whether each part is well, over all indexes of a grant."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Min, Model, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Grant, Scope
from config.diagnostics import check_indexes, check_installation
from config.health import OK, check_parts
from core.apps import StrataApp, WaitingRows, list_apps
from core.index_paths import get_index_path
from core.openapi import body_of
from documents.exceptions import NEEDS_ANOTHER_FILE

CHECK_SECONDS = 60  # for which results are kept: telling languages takes a third of a second
MAX_FAILURES = 50  # groups of failures with the same error


@dataclass(frozen=True, slots=True)
class Queue:
    """Rows of an app that wait for one kind of work."""

    app: StrataApp
    rows: WaitingRows

    @property
    def model(self) -> type[Model]:
        return self.app.find_model(self.rows.model)

    @property
    def index(self) -> str:
        """The path to the name of a row's index; empty if the work belongs to none."""
        return get_index_path(self.model)

    def list_rows(self, grant: Grant) -> QuerySet[Any]:
        rows = self.model._default_manager.filter(self.rows.condition)
        return grant.limit(rows) if self.index else rows


class WorkView(NeedsAllDocuments):
    """The work of the service."""

    scopes = Scope.MANAGE

    @extend_schema(
        operation_id="read_work", tags=["Operation"], responses=body_of(strata_types.Work)
    )
    def get(self, request: Request) -> Response:
        """Read what waits, what failed, and whether each part of the service is well.

        A key shows its indexes; what belongs to no index is shown to those who see all of them.
        """
        grant = get_grant(request)
        sees_all = grant.indexes is None
        checks = cache.get_or_set("work-checks", _check, CHECK_SECONDS) if sees_all else []
        queues = _list_queues(grant)
        failures = [failure for queue in queues for failure in _list_failures(queue, grant)]
        return Response(
            {
                "waiting": list_waiting(grant),
                "failures": sorted(failures, key=lambda each: -each["count"])[:MAX_FAILURES],
                "parts": [
                    {"part": part, "is_ok": state == OK, "detail": state}
                    for part, state in check_parts().items()
                ],
                "checks": checks,
            }
        )


def _check() -> list[dict[str, Any]]:
    return [asdict(result) for result in (*check_installation(), *check_indexes())]


def _list_queues(grant: Grant) -> list[Queue]:
    return [
        queue
        for app in list_apps()
        for queue in (Queue(app, rows) for rows in app.waiting_rows)
        if queue.index or grant.indexes is None
    ]


def list_waiting(grant: Grant) -> list[dict[str, Any]]:
    """What waits in each queue, by index, and for how long."""
    return [each for queue in _list_queues(grant) for each in _list_waiting(queue, grant)]


def _list_waiting(queue: Queue, grant: Grant) -> Iterator[dict[str, Any]]:
    rows = queue.list_rows(grant).filter(state__in=queue.rows.states).order_by()
    since = queue.rows.since
    counts = {"count": Count("pk")} | ({"oldest": Min(since)} if since else {})
    for row in _group(rows, queue).annotate(**counts):
        oldest = row.get("oldest")
        yield {
            "work": queue.rows.work,
            "index": row.get(queue.index),
            "count": row["count"],
            "oldest_seconds": oldest and round((timezone.now() - oldest).total_seconds()),
        }


def _list_failures(queue: Queue, grant: Grant) -> Iterator[dict[str, Any]]:
    failed, error, code = queue.rows.failed, queue.rows.error, queue.rows.code
    if not failed:
        return
    rows = queue.list_rows(grant).filter(state=failed).exclude(**{error: ""}).order_by()
    fields = filter(None, (error, code))
    groups = _group(rows, queue, *fields).annotate(count=Count("pk"))
    for row in groups.order_by("-count")[:MAX_FAILURES]:
        yield {
            "work": queue.rows.work,
            "index": row.get(queue.index),
            "error": row[error],
            "count": row["count"],
            "is_retryable": row.get(code) not in NEEDS_ANOTHER_FILE,
        }


def _group(rows: QuerySet[Any], queue: Queue, *fields: str) -> QuerySet[Any]:
    """One row for each index and each value of the fields."""
    names = [*([queue.index] if queue.index else []), *fields]
    return rows.values(*names) if names else rows.values("state")
