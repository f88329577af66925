"""The metrics of the service for Prometheus."""

import os
import time
from collections.abc import Iterator
from typing import Final

from django.core.cache import cache
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from rest_framework.request import Request

from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Grant, Scope
from config.health import OK, check_parts
from config.work import list_waiting
from core.metrics import REQUEST_SECONDS, REQUESTS
from core.request_id import request_id
from core.routes import describe_route
from core.stages import describe
from core.text import hash_text
from indexing.models import LOST_TURN, NOT_SYNCED, IndexBuild, Node
from indexing.progress import get_index_progress

# Reading the state takes longer the more documents there are. It is kept for so many times as long,
# so that reading takes at most half a percent of a processor, however often it is scraped.
KEPT_PER_SECOND: Final = 200
MOST_KEPT_SECONDS: Final = 60.0


def count_request(request: HttpRequest, status: int, seconds: float) -> None:
    method, route = describe_route(request)
    REQUESTS.labels(method, route, status).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)
    describe(
        {
            "http.request.method": method, "http.route": route,
            "http.response.status_code": status, "strata.request_id": request_id.get(),
        },
        name=f"{method} {route}",
    )  # fmt: skip


class MetricsView(NeedsAllDocuments):
    """The state of the indexes, from the database, and the counters of this server's processes.

    A key shows the indexes that it sees.
    """

    scopes = Scope.SEARCH
    schema = None

    def get(self, request: Request) -> HttpResponse:
        counters = generate_latest(_choose_registry()).decode()
        return HttpResponse(_read_state(get_grant(request)) + counters, CONTENT_TYPE_LATEST)


def _read_state(grant: Grant) -> str:
    key = f"metrics-{hash_text(repr(grant.indexes and sorted(grant.indexes)))}"
    state: str | None = cache.get(key)
    if state is None:
        started_at = time.perf_counter()
        registry = CollectorRegistry()
        registry.register(_StateCollector(grant))
        state = generate_latest(registry).decode()
        took = time.perf_counter() - started_at
        cache.set(key, state, min(1 + took * KEPT_PER_SECOND, MOST_KEPT_SECONDS))
    return state


def _choose_registry() -> CollectorRegistry:
    """That of all processes of this server, or of the only one."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


# Name -> meaning and labels.
_GAUGES: Final = {
    "part_up": ("Whether a part of the service is well.", ["part"]),
    "waiting": ("Rows that wait for a kind of work.", ["work", "index"]),
    "oldest_waiting_seconds": ("For how long the oldest of them waits.", ["work", "index"]),
    "documents": ("Documents of an index by state.", ["index", "state"]),
    "nodes": ("Nodes of an index's live build by state.", ["index", "state"]),
    "index_lag_seconds": (
        "Age of the oldest change that searches of the index do not show.", ["index"]
    ),
    "index_points_lost": (
        "Whether the vector store has lost points of the index, so that searches are refused.",
        ["index"],
    ),
    "lost_points": ("Lost points that are not written again yet.", ["index"]),
    "vectors_made": ("Vectors of the live build: embedded, or copied.", ["index", "origin"]),
    "completions": ("Completions for texts of the live build.", ["index", "origin"]),
    "completion_tokens": ("Tokens of these completions.", ["index", "kind"]),
}  # fmt: skip
_COMPLETIONS: Final = {"called": "call_count", "kept": "reused_count", "failed": "failure_count"}
_TOKENS: Final = {"prompt": "prompt_tokens", "completion": "completion_tokens"}


class _StateCollector(Collector):
    """What the database says when it is asked."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant

    def collect(self) -> Iterator[GaugeMetricFamily]:
        gauges = {
            name: GaugeMetricFamily(f"strata_{name}", meaning, labels=labels)
            for name, (meaning, labels) in _GAUGES.items()
        }
        for name, labels, value in (
            *self._read_work(),
            *self._read_indexes(),
            *self._read_builds(),
        ):
            gauges[name].add_metric(labels, value)
        yield from gauges.values()

    def _read_work(self) -> Iterator[tuple[str, list[str], float]]:
        for part, state in check_parts().items():
            yield "part_up", [part], float(state == OK)
        for each in list_waiting(self.grant):
            labels = [each["work"], each["index"] or ""]
            yield "waiting", labels, each["count"]
            if each["oldest_seconds"] is not None:
                yield "oldest_waiting_seconds", labels, each["oldest_seconds"]

    def _read_indexes(self) -> Iterator[tuple[str, list[str], float]]:
        for index in get_index_progress(grant=self.grant):
            name = index["name"]
            yield "documents", [name, "all"], index["artifacts"]
            yield "documents", [name, "waiting"], index["artifacts_waiting"]
            yield "documents", [name, "failed"], index["artifacts_failed"]
            yield "nodes", [name, "pending"], index["nodes"]["pending"]
            yield "nodes", [name, "synced"], index["nodes"]["synced"]
            yield "nodes", [name, "failed"], index["nodes"]["failed"]
            yield "nodes", [name, "deleting"], index["nodes"]["deleting"]
            yield "index_lag_seconds", [name], index["oldest_pending_seconds"] or 0

    def _read_builds(self) -> Iterator[tuple[str, list[str], float]]:
        builds = self.grant.limit(IndexBuild.objects.live()).order_by("index")
        lost = Node.objects.filter(NOT_SYNCED, state="pending", turn__gte=LOST_TURN)
        lost_by_build = dict(lost.values_list("build").annotate(Count("pk")).order_by())
        for build in builds.select_related("spending"):
            index = build.index_id
            yield "index_points_lost", [index], float(build.lost_at is not None)
            yield "lost_points", [index], lost_by_build.get(build.pk, 0)
            yield "vectors_made", [index, "embedded"], build.embedded_count
            yield "vectors_made", [index, "copied"], build.copied_count
            spending = getattr(build, "spending", None)  # has a row after the first call
            for origin, field in _COMPLETIONS.items():
                yield "completions", [index, origin], getattr(spending, field, 0)
            for kind, field in _TOKENS.items():
                yield "completion_tokens", [index, kind], getattr(spending, field, 0)
