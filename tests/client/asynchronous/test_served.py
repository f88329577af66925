"""The client against a real server."""

import httpx
import pytest

from strata_client import (
    AccessDenied,
    ArtifactFailed,
    AsyncStrata,
    Done,
    InvalidRequest,
    Metadata,
    NotFound,
)
from tests.client.scripted import CutAfterAPiece
from tests.serving import KEY

pytestmark = pytest.mark.anyio

FERRY = "The ferry to Ven leaves at noon. It carries no cars."
BOILER = "Descale the boiler with vinegar twice a year."
BOTH = "When does the ferry leave, and how often is the boiler descaled?"
QUESTION = "When does the ferry to Ven leave?"


def asking(service, key: str = KEY) -> AsyncStrata:
    return AsyncStrata(service.url, key, transport=httpx.AsyncHTTPTransport())


async def gave(strata: AsyncStrata) -> list[str]:
    """Add the documents of this module and wait until they are ready."""
    ferry = await strata.add("plain", text=FERRY, title="Ferries", external_id="ferry")
    [verdict] = await strata.add_batch("plain", [{"text": BOILER, "external_id": "boiler"}])
    ids = [ferry["id"], verdict["id"]]
    await strata.wait_until_ready(ids, timeout=120)
    return ids


class TestServedClient:
    async def test_adds_documents_and_searches_them(self, service):
        async with asking(service) as strata:
            ferry, boiler = await gave(strata)
            found = await strata.search("plain", "ferry to Ven", limit=1, explain=True)
            by_meaning = await strata.search("plain", "chalk in the kettle", mode="dense", limit=1)

        [hit] = found["hits"]
        assert (hit["text"], hit["verdict"]) == (FERRY, "exact")
        assert hit["artifact"] == {
            "id": ferry,
            "title": "Ferries",
            "external_id": "ferry",
            "file_name": "",
        }
        assert hit["explain"]["sparse"]["rank"] == 1
        assert by_meaning["hits"][0]["artifact"]["id"] == boiler

    async def test_recognises_a_document_that_is_added_again(self, service):
        async with asking(service) as strata:
            assert await gave(strata) == await gave(strata)
            [verdict] = await strata.add_batch("plain", [{"text": BOILER, "external_id": "boiler"}])

        assert verdict["verdict"] == "unchanged"

    async def test_streams_an_answer(self, service):
        async with asking(service) as strata:
            await gave(strata)
            async with strata.ask("plain", QUESTION) as stream:
                first, *_, last = [event async for event in stream]

        assert isinstance(first, Metadata)
        assert first.data["relevant"] is True
        assert isinstance(last, Done)
        assert "leaves at noon" in stream.text
        assert last.citations

    async def test_continues_an_interrupted_answer(self, service):
        transport = CutAfterAPiece()
        async with AsyncStrata(service.url, KEY, transport=transport) as strata:
            await gave(strata)
            stream = strata.ask("plain", BOTH)
            events = [event async for event in stream]
            whole = await strata.answer("plain", BOTH)

        first, again, _ = transport.ids_sent
        assert first is None
        assert again is not None
        assert [type(event) for event in events].count(Metadata) == 1
        assert stream.text == whole["answer"]

    async def test_returns_the_same_answer_as_the_api(self, service):
        async with asking(service) as strata:
            await gave(strata)
            answer = await strata.answer("plain", QUESTION)

        question = {"index": "plain", "query": QUESTION}
        whole = service.api.post("ask", json=question, headers={"Accept": "application/json"})
        times = {"took_ms": None, "started_at": None, "found_at": None}
        assert {**answer, **times} == {**whole.json(), **times}

    async def test_adds_and_deletes_a_file(self, service, tmp_path):
        path = tmp_path / "tides.md"
        path.write_text("# Tides\n\nThe tide is highest after a new moon.\n")
        async with asking(service) as strata:
            added = await strata.add("plain", file=path, metadata={"year": 2024})
            ready = await strata.wait_until_ready(added["id"], timeout=120)
            removed = await strata.delete(added["id"])
            with pytest.raises(NotFound) as raised:
                await strata.artifact(added["id"])

        assert (ready["file_name"], ready["metadata"]) == ("tides.md", {"year": 2024})
        assert removed["deleted"]
        assert raised.value.code == "unknown_artifact"

    async def test_names_the_file_that_cannot_be_read(self, service):
        async with asking(service) as strata:
            added = await strata.add("plain", file=("broken.pdf", b"%PDF-1.7 no more"))
            with pytest.raises(ArtifactFailed) as raised:
                await strata.wait_until_ready(added["id"], timeout=120)
            await strata.delete(added["id"])

        assert raised.value.code == "damaged_file"

    async def test_lists_the_indexes(self, service):
        async with asking(service) as strata:
            names = [index["name"] for index in await strata.indexes()]
            plain = await strata.index("plain")

        assert "plain" in names
        assert plain["kinds"] == ["chunk"]

    async def test_raises_an_error_with_the_wrong_field(self, service):
        async with asking(service) as strata:
            with pytest.raises(InvalidRequest) as raised:
                await strata.search("plain", "ferry", mode="fuzzy")
            with pytest.raises(InvalidRequest) as untold:
                await strata.search("plain", "ferry", exlpain=True)
            with pytest.raises(NotFound) as unknown:
                await anext(strata.ask("nothing", QUESTION))

        assert raised.value.field == "mode"
        assert raised.value.allowed == ["dense", "hybrid", "sparse"]
        assert untold.value.field == "exlpain"
        assert "plain" in unknown.value.allowed

    async def test_raises_an_error_for_an_unknown_key(self, service):
        async with asking(service, "unknown") as strata:
            with pytest.raises(AccessDenied) as raised:
                await strata.indexes()

        assert (raised.value.status, raised.value.code) == (401, "unknown_key")
