"""Whether this process and the service are well: its checks, and the heartbeats of workers and beat
in the cache that the processes share."""

import logging
from collections.abc import Iterable
from pathlib import Path

from celery.beat import Scheduler
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection

from config.web_threads import TAKEN_SECONDS, web_threads
from core.apps import list_queues
from core.exceptions import DiskFull, StrataError
from core.leases import describe_error
from documents.originals import require_free_disk
from indexing.health import STALLED_MINUTES, has_failures, is_stalled
from indexing.stores import get_store

LATE_SECONDS = 60  # workers send one each few seconds, beat at least each ten
BEAT = "beat"


def record_heartbeats(names: Iterable[str]) -> None:
    """Record that the workers of these queues, or beat, are alive."""
    for name in names:
        cache.set(_make_key(name), True, LATE_SECONDS)


def find_late(names: Iterable[str]) -> list[str]:
    """Those that sent no heartbeat for ``LATE_SECONDS``."""
    return [name for name in names if not cache.get(_make_key(name))]


def _make_key(name: str) -> str:
    return f"heartbeat_{name}"


class HeartbeatScheduler(Scheduler):
    """Beat that records a heartbeat each time it looks for due tasks, and goes on if the clock is
    set back: Celery's would wait until the time of the last run comes again."""

    def tick(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # as in Celery
        record_heartbeats([BEAT])
        ahead = [
            entry for entry in self.schedule.values() if entry.last_run_at > entry.default_now()
        ]
        for entry in ahead:
            entry.last_run_at = entry.default_now()
        if ahead:
            self.populate_heap()
        return super().tick(*args, **kwargs)


logger = logging.getLogger(__name__)

OK = "ok"
# Without the others, searches still work.
NEEDED_TO_SERVE = {"database", "threads", "vectors", "index"}


def check_parts() -> dict[str, str]:
    """Part of the service -> "ok" or what is wrong with it. If the database does not answer, only
    that."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        logger.error("The database did not answer: %s", error)
        return {"database": "It does not answer."}
    return {
        "database": OK,
        "threads": _check_threads(),
        "vectors": _check_vectors(),
        "disk": _check_disk(),
        **check_workers(),
        "documents": _check_documents(),
    }


def check_workers() -> dict[str, str]:
    """The broker, the workers of each queue, and beat. Without the broker the others are unknown,
    because their heartbeats are stored there."""
    redis = {}
    if hasattr(cache, "ping"):  # not in embedded mode
        if not cache.ping():
            return {"redis": "It does not answer; nothing is indexed until it does."}
        redis = {"redis": OK}
    queues, is_beat_late = find_late(list_queues()), find_late([BEAT])
    late = f"for {LATE_SECONDS} seconds"
    return {
        **redis,
        "workers": f"No worker of the queues {', '.join(queues)} was alive {late}."
        if queues
        else OK,
        "beat": f"It was not alive {late}, so the check of each minute does not run."
        if is_beat_late
        else OK,
    }


def _check_threads() -> str:
    if web_threads.are_stuck():
        return f"All that answer requests have been taken for more than {TAKEN_SECONDS:g} seconds."
    return OK


def _check_vectors() -> str:
    try:
        get_store().ping()
    except StrataError as error:
        return describe_error(error)
    return OK


def _check_disk() -> str:
    try:
        require_free_disk(Path(settings.STRATA_DATA_DIR), 0)
    except DiskFull as error:
        return error.with_fix()
    return OK


def _check_documents() -> str:
    if has_failures():
        return "Documents have failed; strata status names the error."
    if is_stalled():
        return f"Documents wait, and nothing was embedded or written for {STALLED_MINUTES} minutes."
    return OK
