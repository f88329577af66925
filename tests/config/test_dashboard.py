"""The dashboard's queries, answered by a real Prometheus that scrapes a real server."""

from tests.faults.armed import armed
from tests.prometheus import prometheus, read_panels, wait_until_scraped
from tests.serving import KEY


class TestDashboard:
    def test_each_query_is_answered(self, tmp_path):
        scraper = tmp_path / "prometheus"
        scraper.mkdir()
        (tmp_path / "service").mkdir()
        with armed(tmp_path / "service") as service, prometheus(service.url, KEY, scraper) as found:
            service.add("plain", title="Herons", pages=["Herons wait beside the river."])
            for index in ("plain", "no-such-index"):
                service.api.get("search/pages", params={"index": index, "q": "herons"})
            wait_until_scraped(found)

            assert len(read_panels()) > 10
            assert found.find_unanswered() == []
