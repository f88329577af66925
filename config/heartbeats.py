"""Heartbeats of the workers of each queue and of beat, in the cache that the processes share."""

from collections.abc import Iterable

from celery.beat import Scheduler
from django.core.cache import cache

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
    """Beat that records a heartbeat each time it looks for due tasks."""

    def tick(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # as in Celery
        record_heartbeats([BEAT])
        return super().tick(*args, **kwargs)
