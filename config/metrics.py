"""The metrics of the service for Prometheus."""

import os
from collections.abc import Iterator

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
from core.metrics import REQUEST_SECONDS, REQUESTS
from core.request_id import request_id
from core.routes import describe_route
from core.stages import describe
from indexing.models import IndexBuild
from indexing.progress import get_index_progress


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
        registry = CollectorRegistry()
        registry.register(_StateCollector(get_grant(request)))
        state = generate_latest(registry)
        return HttpResponse(state + generate_latest(_choose_registry()), CONTENT_TYPE_LATEST)


def _choose_registry() -> CollectorRegistry:
    """That of all processes of this server, or of the only one."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


class _StateCollector(Collector):
    """What the database says when it is asked."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._collect_parts()
        yield self._collect_losses()
        documents = GaugeMetricFamily(
            "strata_documents", "Documents of an index by state.", labels=["index", "state"]
        )
        nodes = GaugeMetricFamily(
            "strata_nodes", "Nodes of an index's live build by state.", labels=["index", "state"]
        )
        lag = GaugeMetricFamily(
            "strata_index_lag_seconds",
            "Age of the oldest change that searches of the index do not show.",
            labels=["index"],
        )
        for index in get_index_progress(grant=self.grant):
            name = index["name"]
            documents.add_metric([name, "all"], index["artifacts"])
            documents.add_metric([name, "waiting"], index["artifacts_waiting"])
            documents.add_metric([name, "failed"], index["artifacts_failed"])
            nodes.add_metric([name, "pending"], index["nodes"]["pending"])
            nodes.add_metric([name, "synced"], index["nodes"]["synced"])
            nodes.add_metric([name, "failed"], index["nodes"]["failed"])
            nodes.add_metric([name, "deleting"], index["nodes"]["deleting"])
            lag.add_metric([name], index["oldest_pending_seconds"] or 0)
        yield from (documents, nodes, lag)

    def _collect_parts(self) -> GaugeMetricFamily:
        parts = GaugeMetricFamily(
            "strata_part_up", "Whether a part of the service is well.", labels=["part"]
        )
        for part, state in check_parts().items():
            parts.add_metric([part], float(state == OK))
        return parts

    def _collect_losses(self) -> GaugeMetricFamily:
        losses = GaugeMetricFamily(
            "strata_index_points_lost",
            "Whether the vector store has lost points of the index, so that searches are refused.",
            labels=["index"],
        )
        for build in self.grant.limit(IndexBuild.objects.live()).order_by("index"):
            losses.add_metric([build.index_id], float(build.lost_at is not None))
        return losses
