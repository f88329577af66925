# Made of tests/client/asynchronous/test_served.py by `make client`: edit that.
"""The client against a real server."""

import httpx
import pytest

from strata_client import (
    AccessDenied,
    ArtifactFailed,
    Done,
    InvalidRequest,
    Metadata,
    NotFound,
    Strata,
)
from tests.client.scripted import CutAfterAPiece
from tests.serving import KEY

pytestmark = pytest.mark.anyio

FERRY = "The ferry to Ven leaves at noon. It carries no cars."
BOILER = "Descale the boiler with vinegar twice a year."
BOTH = "When does the ferry leave, and how often is the boiler descaled?"
QUESTION = "When does the ferry to Ven leave?"


def asking(service, key: str = KEY) -> Strata:
    return Strata(service.url, key, transport=httpx.HTTPTransport())


def gave(strata: Strata) -> list[str]:
    """Add the documents of this module and wait until they are ready."""
    ferry = strata.add("plain", text=FERRY, title="Ferries", external_id="ferry")
    [verdict] = strata.add_batch("plain", [{"text": BOILER, "external_id": "boiler"}])
    ids = [ferry["id"], verdict["id"]]
    strata.wait_until_ready(ids, timeout=120)
    return ids


class TestServedClient:
    def test_adds_documents_and_searches_them(self, service):
        with asking(service) as strata:
            ferry, boiler = gave(strata)
            found = strata.search("plain", "ferry to Ven", limit=1, explain=True)
            by_meaning = strata.search("plain", "chalk in the kettle", mode="dense", limit=1)

        [hit] = found["hits"]
        assert (hit["text"], hit["verdict"]) == (FERRY, "exact")
        assert hit["artifact"] == {"id": ferry, "title": "Ferries", "external_id": "ferry"}
        assert hit["explain"]["sparse"]["rank"] == 1
        assert by_meaning["hits"][0]["artifact"]["id"] == boiler

    def test_recognises_a_document_that_is_added_again(self, service):
        with asking(service) as strata:
            assert gave(strata) == gave(strata)
            [verdict] = strata.add_batch("plain", [{"text": BOILER, "external_id": "boiler"}])

        assert verdict["verdict"] == "unchanged"

    def test_streams_an_answer(self, service):
        with asking(service) as strata:
            gave(strata)
            with strata.ask("plain", QUESTION) as stream:
                first, *_, last = [event for event in stream]

        assert isinstance(first, Metadata)
        assert first.data["relevant"] is True
        assert isinstance(last, Done)
        assert "leaves at noon" in stream.text
        assert last.citations

    def test_continues_an_interrupted_answer(self, service):
        transport = CutAfterAPiece()
        with Strata(service.url, KEY, transport=transport) as strata:
            gave(strata)
            stream = strata.ask("plain", BOTH)
            events = [event for event in stream]
            whole = strata.answer("plain", BOTH)

        first, again, _ = transport.ids_sent
        assert first is None
        assert again is not None
        assert [type(event) for event in events].count(Metadata) == 1
        assert stream.text == whole["answer"]

    def test_returns_the_same_answer_as_the_api(self, service):
        with asking(service) as strata:
            gave(strata)
            answer = strata.answer("plain", QUESTION)

        question = {"index": "plain", "query": QUESTION}
        whole = service.api.post("ask", json=question, headers={"Accept": "application/json"})
        assert {**answer, "took_ms": None} == {**whole.json(), "took_ms": None}

    def test_adds_and_deletes_a_file(self, service, tmp_path):
        path = tmp_path / "tides.md"
        path.write_text("# Tides\n\nThe tide is highest after a new moon.\n")
        with asking(service) as strata:
            added = strata.add("plain", file=path, metadata={"year": 2024})
            ready = strata.wait_until_ready(added["id"], timeout=120)
            removed = strata.delete(added["id"])
            with pytest.raises(NotFound) as raised:
                strata.artifact(added["id"])

        assert (ready["file_name"], ready["metadata"]) == ("tides.md", {"year": 2024})
        assert removed["deleted"]
        assert raised.value.code == "unknown_artifact"

    def test_names_the_file_that_cannot_be_read(self, service):
        with asking(service) as strata:
            added = strata.add("plain", file=("broken.pdf", b"%PDF-1.7 no more"))
            with pytest.raises(ArtifactFailed) as raised:
                strata.wait_until_ready(added["id"], timeout=120)
            strata.delete(added["id"])

        assert raised.value.code == "damaged_file"

    def test_lists_the_indexes(self, service):
        with asking(service) as strata:
            names = [index["name"] for index in strata.indexes()]
            plain = strata.index("plain")

        assert "plain" in names
        assert plain["kinds"] == ["chunk"]

    def test_raises_an_error_with_the_wrong_field(self, service):
        with asking(service) as strata:
            with pytest.raises(InvalidRequest) as raised:
                strata.search("plain", "ferry", mode="fuzzy")
            with pytest.raises(InvalidRequest) as untold:
                strata.search("plain", "ferry", exlpain=True)
            with pytest.raises(NotFound) as unknown:
                next(strata.ask("nothing", QUESTION))

        assert raised.value.field == "mode"
        assert raised.value.allowed == ["dense", "hybrid", "sparse"]
        assert untold.value.field == "exlpain"
        assert "plain" in unknown.value.allowed

    def test_raises_an_error_for_an_unknown_key(self, service):
        with asking(service, "unknown") as strata:
            with pytest.raises(AccessDenied) as raised:
                strata.indexes()

        assert (raised.value.status, raised.value.code) == (401, "unknown_key")
