"""The metrics of the service, as Prometheus reads them."""

import json
import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.point_audit import audit_next_points
from indexing.services import sync_nodes
from indexing.stores import get_store
from summaries.models import BuildLanguageModelCost
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


def client(**key) -> APIClient:
    made = APIClient()
    name = f"monitoring {ApiKey.objects.count()}"
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue(name, **key)[1]}")
    return made


def scrape(by: APIClient) -> dict[tuple[str, ...], float]:
    """Name and values of the labels -> value."""
    cache.clear()  # the state is kept for a second or more
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

    def test_shows_what_waits_for_each_kind_of_work(self, build):
        give("Auks dive.")
        IndexedDocument.objects.update(state="due", due_at=timezone.now() - timedelta(minutes=2))

        metrics = scrape(client())

        assert metrics["strata_waiting", "plain", "planning"] == 1
        assert metrics["strata_oldest_waiting_seconds", "plain", "planning"] >= 120

    def test_shows_how_many_vectors_and_texts_cost_nothing(self, build):
        sync(build, give("Herons wait."))
        IndexBuild.objects.filter(pk=build.pk).update(copied_count=5)
        BuildLanguageModelCost.objects.create(build=build, reused_count=3, prompt_tokens=80)

        metrics = scrape(client())

        assert metrics["strata_vectors_made", "plain", "embedded"] == 1
        assert metrics["strata_vectors_made", "plain", "copied"] == 5
        assert metrics["strata_completions", "plain", "kept"] == 3
        assert metrics["strata_completion_tokens", "plain", "prompt"] == 80

    def test_shows_lost_points_until_they_are_written_again(self, build):
        sync(build, give("Herons wait."), give("Terns fly."))
        point_ids = list(Node.objects.values_list("point_id", flat=True))
        get_store().delete(build.collection("chunk"), point_ids[:1])
        audit_next_points(build)

        lost = scrape(client())
        while sync_nodes(build):
            pass
        audit_next_points(build)
        mended = scrape(client())

        names = ("strata_index_points_lost", "plain"), ("strata_lost_points", "plain")
        assert [lost[name] for name in names] == [1, 1]
        assert [mended[name] for name in names] == [0, 0]

    def test_is_kept_for_a_while(self, build):
        monitoring = client()
        before = scrape(monitoring)
        give("Auks dive.")

        kept = monitoring.get("/metrics").content.decode()

        assert before["strata_documents", "plain", "all"] == 0
        assert 'strata_documents{index="plain",state="all"} 0.0' in kept
        assert scrape(monitoring)["strata_documents", "plain", "all"] == 1

    def test_is_kept_for_each_key_apart(self, build):
        scrape(client())

        shown = client(scope=Scope.SEARCH, indexes=["other"]).get("/metrics").content.decode()

        assert 'index="plain"' not in shown

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
