"""The metrics of a web server of several processes."""

import re

import pytest

from tests.prometheus import prometheus, wait_until_scraped

pytestmark = pytest.mark.django_db  # creates the test database

SETTINGS = {"WEB_CONCURRENCY": "2", "STRATA_TEST_QUICK": "1"}
READY_SECONDS = 120


class TestMetrics:
    def test_add_up_the_processes_of_a_server(self, production_and_key):
        production, secret = production_and_key
        production.authorise(secret)
        with production.web():
            processes = set(re.findall(r"Booting worker with pid: (\d+)", production.read_logs()))
            for _ in range(20):  # each with a connection of its own, which any process accepts
                production.api.get("indexes/", headers={"Connection": "close"}).raise_for_status()
            scraped = production.api.get(f"{production.url}/metrics").text

        [count] = re.findall(r'strata_requests_total\{.*route="/api/v1/indexes".*\} (.*)', scraped)
        assert len(processes) == 2
        assert float(count) == 20


class TestDashboard:
    def test_each_query_is_answered(self, production_and_key, tmp_path):
        production, secret = production_and_key
        production.authorise(secret)
        with (
            production.web(),
            production.worker("planning", "documents", "indexing"),
            production.beat(),
            prometheus(production.url, secret, tmp_path) as found,
        ):
            uploaded = production.upload("heron.txt", "Herons wait beside the river.")
            production.wait_until_ready([uploaded], READY_SECONDS)
            for index in ("plain", "no-such-index"):
                production.api.get("search/pages", params={"index": index, "q": "herons"})
            wait_until_scraped(found)

            assert found.find_unanswered() == []
