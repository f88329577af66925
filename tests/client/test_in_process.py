"""The methods of both clients against the API of this process, which holds something of everything.

What changes nothing is asked by both clients, and the rest by the asynchronous one, from which the
other is generated.
"""

import inspect
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.core.handlers.wsgi import WSGIHandler

from access.models import ApiKey
from evaluation.runs import claim_run, measure_run
from strata_client import AccessDenied, AsyncStrata, Conflict, InvalidRequest, NotFound, Strata
from tests.openapi.conftest import SMILES, filled, models  # noqa: F401
from tests.spaces.images.conftest import clip, pair  # noqa: F401

URL = "http://testserver"
TOOL = "search_knowledge_base"
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


class InProcess(httpx.AsyncBaseTransport):
    """The API of this process, in the transaction of the test."""

    def __init__(self) -> None:
        self._transport = httpx.WSGITransport(WSGIHandler())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = self._transport.handle_request(request)
        return httpx.Response(
            response.status_code, headers=response.headers, content=response.read()
        )


class Waiting:
    """An asynchronous client, or a part of it, each of whose calls is waited for."""

    def __init__(self, asynchronous: Any) -> None:
        self._asynchronous = asynchronous

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._asynchronous, name)
        if not inspect.ismethod(attribute):
            return Waiting(attribute)

        def call(*args: Any, **given: Any) -> Any:
            called = attribute(*args, **given)
            return finish(collect(called) if inspect.isasyncgen(called) else called)

        return call


async def collect(events: Any) -> list[Any]:
    return [event async for event in events]


def finish(coroutine: Any) -> Any:
    """Run a coroutine that waits for nothing, without an event loop, in which Django would open
    another connection to the database."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("It waits.")


class Both:
    """Both clients, asked the same: their answers are equal except for the time they took."""

    def __init__(self, asynchronous: Waiting, synchronous: Any) -> None:
        self._clients = asynchronous, synchronous

    def __getattr__(self, name: str) -> Any:
        first, second = (getattr(client, name) for client in self._clients)
        if not inspect.isroutine(first):
            return Both(first, second)

        def call(*args: Any, **given: Any) -> Any:
            answer, other = first(*args, **given), second(*args, **given)
            if isinstance(answer, dict):
                assert {**answer, "took_ms": None} == {**other, "took_ms": None}
            else:
                assert answer == other
            return answer

        return call


@pytest.fixture
def strata(filled) -> Waiting:  # noqa: F811
    key = ApiKey.issue("client")[1]
    return Waiting(AsyncStrata(URL, key, transport=InProcess(), retries=0))


@pytest.fixture
def both(strata) -> Both:
    key = ApiKey.issue("other client")[1]
    transport = httpx.WSGITransport(WSGIHandler())
    return Both(strata, Strata(URL, key, transport=transport, retries=0))


def measure(evaluation_id: str) -> None:
    """Do what a worker does for an evaluation."""
    claimed = claim_run(UUID(evaluation_id))
    assert claimed is not None
    measure_run(claimed)


class TestReading:
    def test_returns_what_the_api_answers(self, both, filled):  # noqa: F811
        self.read_documents(both, filled)
        self.search(both)
        self.search_knowledge(both, filled)
        self.read_a_concept(both, filled)
        self.read_sources_and_call_tools(both, filled)
        self.read_runs(both, filled)

    def read_documents(self, both, filled):  # noqa: F811
        listed = both.artifacts("plain", title="NOTE 1", status="ready", ordering="-title")
        pages = both.pages(str(filled.artifact_id))
        page = both.page(str(filled.artifact_id), 0)
        with pytest.raises(NotFound) as absent:
            both.original(str(filled.artifact_id))

        assert [each["title"] for each in listed["results"]] == ["Note 1"]
        assert pages["results"][0]["char_count"] == len(page["text"])
        assert both.original(str(filled.file_id)) == b"The lamp is lit."
        assert both.boxes(str(filled.file_id), 0, 0, 8) == []
        assert absent.value.code == "no_original"
        assert both.summary(str(filled.summarised_id))["type"] == "artifact_summary"
        assert both.page_summary(str(filled.page_id))["type"] == "page_summary"

    def search(self, both):
        pages = both.search("plain", "heron waits for fish")
        summaries = both.search("full", "granite", kind="summaries")
        questions = both.search("asked", "heron", kind="questions")
        hierarchical = both.search_hierarchical("full", "granite")
        structures = both.search_structures("pharmacy", SMILES, query="kept dry")
        images = both.search_images("gallery", "red", with_text=False)
        vector = both.embed("plain", "heron waits for fish")
        by_vector = both.search("plain", vector=vector, limit=1)

        assert both.embed_batch("plain", ["heron waits for fish"] * 2) == [vector] * 2
        assert by_vector["hits"][0]["score_kind"] == "cosine"
        assert by_vector["hits"][0]["artifact"]["title"] == "Note 0"
        assert pages["hits"][0]["artifact"]["title"] == "Note 0"
        assert summaries["hits"][0]["kind"] in {"page_summary", "artifact_summary"}
        assert questions["hits"][0]["question"]
        assert hierarchical["artifacts"][0]["artifact_title"] == "Notes"
        assert structures["hits"][0]["structure"]["smiles"] == SMILES
        assert structures["hits"][0]["passage"]["text"] == "It is kept dry."
        assert images["hits"][0]["artifact"]["title"] == "Poppy"

    def search_knowledge(self, both, filled):  # noqa: F811
        concept, source = str(filled.concept_id), str(filled.heron_source_id)
        concepts = both.search_concepts("knowledge", "Heron", limit=1)
        types = both.search_relationships("knowledge", "EATS")
        sources = both.search_sources(
            "knowledge", "heron shallows", include_concepts=True, window=1
        )
        routed = both.route("knowledge", "Heron")
        blended = both.blend("knowledge", "Heron", source_weight=0.5)
        graph = both.subgraph("knowledge", "Heron", min_similarity=-1)

        assert [hit["id"] for hit in concepts["hits"]] == [concept]
        assert types["hits"][0]["relationships"][0]["id"] == str(filled.relationship_id)
        assert sources["hits"][0]["concepts"][0]["label"] == "Heron"
        assert routed["entry"]["id"] == concept
        assert blended["hits"][0]["id"] == concept
        assert graph["relationships"][0]["id"] == str(filled.relationship_id)
        assert source in [hit["id"] for hit in graph["sources"]]

    def read_a_concept(self, both, filled):  # noqa: F811
        concept, edge = str(filled.concept_id), str(filled.relationship_id)
        listed = both.concepts.list("knowledge", label="her", evidence="some")
        quotes = both.concepts.quotes(concept, limit=1)
        evidence = both.concepts.evidence(concept, "how it feeds", limit=1)
        context = both.concepts.context(concept, window=1)
        paths = both.concepts.paths(concept, ["eats", "feeds"], min_similarity=-1)
        shared = both.concepts.shared([concept, str(filled.near_concept_id)], limit=3)
        edges = both.relationships.list("knowledge", concept=concept)
        types = both.relationships.types("knowledge", category="ecology")
        pairs = both.relationships.emergent("knowledge", bridge_similarity=0.1)

        assert listed["results"] == [both.concepts.get(concept)]
        assert [each["id"] for each in quotes["results"]] == [str(filled.instance_id)]
        assert (evidence["count"], evidence["hits"][0]["quote"]) == (1, "The heron")
        assert [each["id"] for each in context["sources"]] == [str(filled.heron_source_id)]
        assert paths["paths"][0]["steps"][0]["id"] == edge
        assert shared["concepts"][0]["id"] == concept
        assert edges["results"] == [both.relationships.get(edge)]
        assert types["results"] == [both.relationships.type(str(filled.type_id))]
        assert pairs["results"][0]["bridges"]

    def read_sources_and_call_tools(self, both, filled):  # noqa: F811
        source = both.source(str(filled.source_id), window=1)
        similar = both.similar_sources(
            source["id"], index=["plain"], limit=2, min_similarity=-1, window=1
        )
        tools = both.tools("full")
        found = both.call_tool("full", TOOL, {"query": "granite"})

        assert source["artifact"]["id"] == str(filled.artifact_id)
        assert len(similar["hits"]) == 2
        assert source["id"] not in [hit["id"] for hit in similar["hits"]]
        assert TOOL in [tool["name"] for tool in tools]
        assert found["hits"]

    def read_runs(self, both, filled):  # noqa: F811
        run = str(filled.run_id)
        evaluations = both.evaluations.list("plain", limit=1)
        builds = both.request("GET", "indexes/plain/builds/", params={"limit": 1})

        assert evaluations["results"][0]["id"] == both.evaluations.get(run)["id"] == run
        assert both.evaluations.wait(run)["state"] == "done"
        assert "<html" in both.evaluations.report(run)
        assert builds["results"]


class TestWriting:
    def test_changes_what_the_api_stores(self, strata, filled):  # noqa: F811
        self.edit_documents(strata, filled)
        self.edit_concepts(strata, filled)
        self.quote(strata, filled)
        self.relate(strata, filled)
        self.decide_on_a_pair(strata, filled)
        self.regenerate(strata)
        self.evaluate(strata)
        self.verify_with_its_scope(strata)

    def edit_documents(self, strata, filled):  # noqa: F811
        artifact, page = str(filled.summarised_id), str(filled.page_id)
        added = strata.add("plain", text="Tides turn.", title="Tides")
        replaced = strata.replace(added["id"], pages=["One.", "Two."])
        again = strata.replace(added["id"], text="Tides turn at noon.")
        summary = strata.write_summary(artifact, "By hand.", model_name="a-model")
        due = strata.write_page_summary(page, None)
        deleted = [strata.delete_summary(artifact), strata.delete_page_summary(page)]
        with pytest.raises(NotFound) as gone:
            strata.page_summary(page)
        strata.write_page_summary(page, None)
        with pytest.raises(NotFound):
            strata.replace(UNKNOWN_ID, text="Nothing.")

        assert (replaced["pages"], replaced["title"]) == (2, "Tides")
        assert (again["id"], again["pages"]) == (added["id"], 1)
        assert (summary["text"], summary["model_name"]) == ("By hand.", "a-model")
        assert summary["is_by_hand"] is True
        assert due["is_by_hand"] is False
        assert [each["id"] for each in deleted] == [artifact, page]
        assert gone.value.code == "summary_deleted"

    def edit_concepts(self, strata, filled):  # noqa: F811
        egret = strata.concepts.create("knowledge", "Egret", search_terms=("Egretta",))
        changed = strata.concepts.update(egret["id"], description="A white heron.")
        with pytest.raises(Conflict):
            strata.concepts.create("knowledge", "egret")
        merged = strata.concepts.merge(str(filled.other_concept_id), [egret["id"]])
        with pytest.raises(NotFound) as unknown:
            strata.concepts.get(egret["id"])
        stork = strata.concepts.create("knowledge", "Stork")

        assert egret["search_terms"] == ["Egretta"]
        assert changed["description"] == "A white heron."
        assert merged["label"] == "Fish"
        assert unknown.value.code == "unknown_concept"
        assert strata.concepts.delete(stork["id"])["deleted"]

    def quote(self, strata, filled):  # noqa: F811
        concept, source = str(filled.concept_id), str(filled.heron_source_id)
        added = strata.concepts.add_quote(concept, "It eats fish", source=source)
        with pytest.raises(InvalidRequest) as absent:
            strata.concepts.add_quote(concept, "It sings", source=source)
        before = strata.concepts.quotes(concept)
        strata.concepts.delete_quote(added["id"])
        after = strata.concepts.quotes(concept)

        assert absent.value.code == "quote_not_found"
        assert (before["count"], after["count"]) == (2, 1)

    def relate(self, strata, filled):  # noqa: F811
        first, second = str(filled.concept_id), str(filled.near_concept_id)
        kind = strata.relationships.create_type("knowledge", "NESTS_BY", category="home")
        changed = strata.relationships.update_type(kind["id"], description="Nests near.")
        edge = strata.relationships.create("knowledge", first, kind["id"], second)
        strata.relationships.delete(edge["id"])
        with pytest.raises(NotFound):
            strata.relationships.get(edge["id"])
        deletion = strata.relationships.delete_type(kind["id"])
        with pytest.raises(NotFound):
            strata.relationships.type(kind["id"])

        assert changed["description"] == "Nests near."
        assert edge["target"]["id"] == second
        assert deletion["deleted"]

    def decide_on_a_pair(self, strata, filled):  # noqa: F811
        pair_id, kind = str(filled.pair_id), str(filled.type_id)
        [open_pair] = strata.relationships.emergent("knowledge")["results"]
        dismissed = strata.relationships.dismiss(pair_id)
        edge = strata.relationships.accept(pair_id, kind, reversed=True)
        with pytest.raises(NotFound):
            strata.relationships.accept(UNKNOWN_ID, kind)

        assert dismissed["state"] == "dismissed"
        assert edge["source"] == open_pair["concepts"][1]

    def regenerate(self, strata):
        made = strata.regenerate(type="question", index="full", limit=1)
        with pytest.raises(InvalidRequest) as wrong:
            strata.regenerate(type="poem")

        assert (made["types"], made["due"]) == (["question"], 1)
        assert "question" in wrong.value.allowed

    def evaluate(self, strata):
        queries, qrels = {"q": "heron waits for fish"}, {"q": {"d0": 1}}
        started = strata.evaluations.start(
            "plain", systems=["hybrid"], measures=["R@100"], queries=queries, qrels=qrels
        )
        measure(started["id"])
        [done] = strata.evaluations.follow(started["id"])
        strata.evaluations.delete(started["id"])
        with pytest.raises(NotFound):
            strata.evaluations.get(started["id"])

        assert done["results"][0]["measures"] == {"R@100": 1.0}

    def verify_with_its_scope(self, strata):
        plain, reports = strata.verify("plain"), strata.verify()
        reader = strata.create_key("a reader")["secret"]
        with pytest.raises(AccessDenied) as denied:
            Waiting(AsyncStrata(URL, reader, transport=InProcess())).verify("plain")

        assert (plain["index"], plain["point_count"]) == ("plain", plain["node_count"])
        assert {report["index"] for report in reports} >= {"plain", "knowledge"}
        assert denied.value.code == "missing_scope"
