"""The metrics of the service, as Prometheus reads them."""

import json
import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from indexing.models import IndexedDocument
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


def client(**key) -> APIClient:
    made = APIClient()
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('monitoring', **key)[1]}")
    return made


def scrape(by: APIClient) -> dict[tuple[str, ...], float]:
    """Name and values of the labels -> value."""
    answer = by.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def count(metrics: dict[tuple[str, ...], float], *key: str) -> float:
    return metrics.get(key, 0)


class TestState:
    def test_shows_the_documents_and_nodes_of_each_index(self, build):
        sync(build, give("Herons wait."), give("Terns fly."))
        give("Auks dive.")
        IndexedDocument.objects.update(due_at=timezone.now() - timedelta(minutes=2))

        metrics = scrape(client())

        assert metrics["strata_documents", "plain", "all"] == 3
        assert metrics["strata_documents", "plain", "waiting"] == 1
        assert metrics["strata_nodes", "plain", "synced"] == 2
        assert metrics["strata_index_lag_seconds", "plain"] >= 120
        assert metrics["strata_index_points_lost", "plain"] == 0
        assert metrics["strata_part_up", "database"] == 1

    def test_shows_only_indexes_that_the_key_sees(self, build):
        metrics = scrape(client(scope=Scope.SEARCH, indexes=["other"]))

        assert not any("plain" in key for key in metrics)

    def test_needs_a_key_that_sees_all_documents(self, build):
        assert APIClient().get("/metrics").status_code == 401
        answer = client(groups=["red"]).get("/metrics")
        assert (answer.status_code, answer.json()["code"]) == (403, "needs_all_documents")


class TestDashboard:
    def test_asks_for_metrics_and_labels_that_exist(self, build):
        path = settings.BASE_DIR / "docs" / "grafana-dashboard.json"
        targets = [
            target
            for panel in json.loads(path.read_text())["panels"]
            for target in panel["targets"]
        ]
        monitoring = client()
        monitoring.get("/api/v1/search/pages", {"index": "plain", "q": "herons"})
        monitoring.get("/metrics")
        exposed = monitoring.get("/metrics").content.decode()

        assert len(targets) > 10
        for target in targets:
            [name] = re.findall(r"strata_\w+", target["expr"])
            labels = re.findall(r"(\w+)=", target["expr"]) + re.findall(
                r"{{(\w+)}}", target["legendFormat"]
            )
            series = re.findall(rf"^{name}(?:{{.*}})? ", exposed, re.MULTILINE)
            assert series, name
            assert all(f'{label}="' in series[0] for label in labels), target


class TestCounters:
    def test_count_requests_by_route_and_searches_by_stage(self, build):
        sync(build, give("Herons wait."))
        monitoring = client()
        before = scrape(monitoring)

        for query in ("herons", "terns"):
            monitoring.get("/api/v1/search/pages", {"index": "plain", "q": query})
        monitoring.get("/api/v1/search/pages", {"index": "nothing", "q": "herons"})
        monitoring.get("/api/v1/indexes/plain/")
        monitoring.get("/api/v1/indexes/plain/artifacts/")
        after = scrape(monitoring)

        for key, more in {
            ("strata_requests_total", "GET", "/api/v1/search/pages", "200"): 2,
            ("strata_requests_total", "GET", "/api/v1/search/pages", "404"): 1,
            ("strata_requests_total", "GET", "/api/v1/indexes/<index>", "200"): 1,
            ("strata_requests_total", "GET", "/api/v1/indexes/<index>/artifacts", "200"): 1,
            ("strata_request_seconds_count", "GET", "/api/v1/search/pages"): 3,
            ("strata_stage_seconds_count", "embed"): 2,
            ("strata_stage_seconds_count", "retriever"): 3,
        }.items():
            assert count(after, *key) - count(before, *key) == more, key

    def test_hold_nothing_that_a_caller_wrote(self, build):
        monitoring = client()
        monitoring.get("/api/v1/search/pages", {"index": "plain", "q": "a secret question"})
        monitoring.get("/api/v1/artifacts/some-secret-id/")
        monitoring.generic("SECRET", "/api/v1/indexes/")

        shown = monitoring.get("/metrics").content
        assert b"secret" not in shown.lower()
        assert b'method="other",route="/api/v1/indexes"' in shown
