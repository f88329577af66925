# Made of tests/client/asynchronous/test_evidence.py by `make client`: edit that.
"""The requests of the evidence methods, and the results they make from responses."""

import pytest

from strata_client import Strata
from tests.client.scripted import URL, Script, answers

pytestmark = pytest.mark.anyio

ITEM = {"url": "https://a.example", "content": "Tides turn.", "citation": {"title": "Tides"}}
TWIN = {"url": "https://b.example", "content": "The tides turn."}
HITS = answers(200, {"hits": [{"url": "https://a.example", "similarity": 0.97}]})


def asking(script: Script) -> Strata:
    return Strata(URL, "a-key", transport=script)


class TestAdd:
    def test_sends_all_items_in_one_request_and_returns_verdicts_in_order(self):
        told = [
            {"url": "https://a.example", "verdict": "added", "artifact_id": "a1"},
            {"url": "https://b.example", "verdict": "duplicate", "artifact_id": "a1",
             "duplicate_of": "a1", "similarity": 0.97},
        ]  # fmt: skip
        script = Script(answers(200, {"verdicts": told}))
        with asking(script) as strata:
            verdicts = strata.evidence.add("evidence", iter([ITEM, TWIN]), threshold=0.8)

        assert verdicts == told
        assert script.asked == ["POST indexes/evidence/evidence/"]
        assert script.body() == {"items": [ITEM, TWIN], "threshold": 0.8}

    def test_accepts_a_single_item(self):
        script = Script(answers(200, {"verdicts": [{"verdict": "added"}]}))
        with asking(script) as strata:
            [verdict] = strata.evidence.add("evidence", ITEM)

        assert verdict["verdict"] == "added"
        assert script.body() == {"items": [ITEM]}

    def test_splits_items_into_requests_that_the_server_accepts(self):
        items = [{"url": f"https://a.example/{n}", "content": "Tides."} for n in range(230)]
        told = [[{"url": item["url"]} for item in items[at : at + 100]] for at in (0, 100, 200)]
        script = Script(*(answers(200, {"verdicts": verdicts}) for verdicts in told))
        with asking(script) as strata:
            verdicts = strata.evidence.add("evidence", items)

        assert [len(script.body(at)["items"]) for at in range(3)] == [100, 100, 30]
        assert [verdict["url"] for verdict in verdicts] == [item["url"] for item in items]

    def test_sends_a_threshold_of_zero(self):
        script = Script(answers(200, {"verdicts": []}))
        with asking(script) as strata:
            strata.evidence.add("evidence", ITEM, threshold=0.0)

        assert script.body()["threshold"] == 0

    def test_sends_no_request_for_an_empty_list(self):
        script = Script(HITS)
        with asking(script) as strata:
            assert strata.evidence.add("evidence", []) == []

        assert script.asked == []


class TestSimilar:
    def test_sends_the_text_as_query(self):
        script = Script(HITS)
        with asking(script) as strata:
            [hit] = strata.evidence.similar("evidence", "do tides turn?", limit=5)

        assert hit["similarity"] == 0.97
        [request] = script.requests
        assert request.method == "GET"
        assert request.url.path == "/api/v1/indexes/evidence/evidence/similar"
        assert dict(request.url.params) == {"q": "do tides turn?", "limit": "5"}

    def test_sends_the_minimum_revision(self):
        script = Script(HITS)
        with asking(script) as strata:
            strata.evidence.similar("evidence", "tides", min_revision=7)
            strata.evidence.related("evidence", "tides", urls=[], min_revision=7)

        assert script.requests[0].url.params["min_revision"] == "7"
        assert script.body()["min_revision"] == 7

    def test_is_empty_if_nothing_is_stored(self):
        with asking(Script(answers(200, {"hits": []}))) as strata:
            assert strata.evidence.similar("evidence", "tides", min_similarity=0.5) == []


class TestRelated:
    def test_sends_the_urls_to_leave_out(self):
        script = Script(HITS)
        with asking(script) as strata:
            [hit] = strata.evidence.related(
                "evidence", "tides", urls=("https://b.example",), limit=5
            )

        assert hit["url"] == "https://a.example"
        assert script.asked == ["POST indexes/evidence/evidence/related"]
        assert script.body() == {"query": "tides", "urls": ["https://b.example"], "limit": 5}
