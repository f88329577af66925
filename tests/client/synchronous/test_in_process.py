# Made of tests/client/asynchronous/test_in_process.py by `make client`: edit that.
"""The methods against the API of this process, which holds something of everything."""

import pytest

from strata_client import AccessDenied, Conflict, InvalidRequest, NotFound, Strata
from tests.client.scripted import IN_PROCESS_URL, InProcess, measure
from tests.openapi.conftest import SMILES

pytestmark = pytest.mark.anyio

TOOL = "search_knowledge_base"
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def asking(key: str) -> Strata:
    return Strata(IN_PROCESS_URL, key, transport=InProcess(), retries=0)


class TestSearches:
    def test_find_what_each_kind_of_search_finds(self, key, filled):
        with asking(key) as strata:
            pages = strata.search("plain", "heron waits for fish")
            summaries = strata.search("full", "granite", kind="summaries")
            questions = strata.search("asked", "heron", kind="questions")
            hierarchical = strata.search_hierarchical("full", "granite")
            structures = strata.search_structures("pharmacy", SMILES, query="kept dry")
            images = strata.search_images("gallery", "red", with_text=False)

        assert pages["hits"][0]["artifact"]["title"] == "Note 0"
        assert summaries["hits"][0]["kind"] in {"page_summary", "artifact_summary"}
        assert questions["hits"][0]["question"]
        assert hierarchical["artifacts"][0]["artifact_title"] == "Notes"
        assert structures["hits"][0]["structure"]["smiles"] == SMILES
        assert structures["hits"][0]["passage"]["text"] == "It is kept dry."
        assert images["hits"][0]["artifact"]["title"] == "Poppy"

    def test_find_concepts_and_sources(self, key, filled):
        concept, source = str(filled.concept_id), str(filled.heron_source_id)
        with asking(key) as strata:
            concepts = strata.search_concepts("knowledge", "Heron", limit=1)
            types = strata.search_relationships("knowledge", "EATS")
            sources = strata.search_sources(
                "knowledge", "heron shallows", include_concepts=True, window=1
            )
            routed = strata.route("knowledge", "Heron")
            blended = strata.blend("knowledge", "Heron", source_weight=0.5)
            graph = strata.subgraph("knowledge", "Heron", min_similarity=-1)

        assert [hit["id"] for hit in concepts["hits"]] == [concept]
        assert types["hits"][0]["relationships"][0]["id"] == str(filled.relationship_id)
        assert sources["hits"][0]["concepts"][0]["label"] == "Heron"
        assert routed["entry"]["id"] == concept
        assert blended["hits"][0]["id"] == concept
        assert graph["relationships"][0]["id"] == str(filled.relationship_id)
        assert source in [hit["id"] for hit in graph["sources"]]

    def test_read_a_source_find_similar_ones_and_call_a_tool(self, key, filled):
        with asking(key) as strata:
            source = strata.source(str(filled.source_id), window=1)
            similar = strata.similar_sources(
                str(filled.source_id), index=["plain"], limit=2, min_similarity=-1
            )
            tools = strata.tools("full")
            found = strata.call_tool("full", TOOL, {"query": "granite"})
            with pytest.raises(NotFound) as unknown:
                strata.source(UNKNOWN_ID)
            with pytest.raises(InvalidRequest) as wrong:
                strata.call_tool("full", TOOL, {"nothing": 1})

        assert source["artifact"]["id"] == str(filled.artifact_id)
        assert len(similar["hits"]) == 2
        assert source["id"] not in [hit["id"] for hit in similar["hits"]]
        assert TOOL in [tool["name"] for tool in tools]
        assert found["hits"]
        assert (unknown.value.code, wrong.value.field) == ("unknown_source", "nothing")


class TestConcepts:
    def test_are_added_changed_merged_and_deleted(self, key, filled):
        with asking(key) as strata:
            egret = strata.concepts.create("knowledge", "Egret", search_terms=("Egretta",))
            changed = strata.concepts.update(egret["id"], description="A white heron.")
            page = strata.concepts.list("knowledge", label="egre", evidence="none")
            with pytest.raises(Conflict):
                strata.concepts.create("knowledge", "egret")
            merged = strata.concepts.merge(str(filled.concept_id), [egret["id"]])
            with pytest.raises(NotFound) as unknown:
                strata.concepts.get(egret["id"])
            deletion = strata.concepts.delete(str(filled.near_concept_id))

        assert egret["search_terms"] == ["Egretta"]
        assert page["results"] == [changed]
        assert changed["description"] == "A white heron."
        assert merged["label"] == "Heron"
        assert unknown.value.code == "unknown_concept"
        assert deletion["deleted"]

    def test_have_quotes_sources_and_paths(self, key, filled):
        concept, source = str(filled.concept_id), str(filled.heron_source_id)
        with asking(key) as strata:
            added = strata.concepts.add_quote(concept, "It eats fish", source=source)
            with pytest.raises(InvalidRequest) as absent:
                strata.concepts.add_quote(concept, "It sings", source=source)
            quotes = strata.concepts.quotes(concept)
            evidence = strata.concepts.evidence(concept, "how it feeds", limit=1)
            context = strata.concepts.context(concept, window=1)
            paths = strata.concepts.paths(concept, ["eats", "feeds"], min_similarity=-1)
            strata.concepts.delete_quote(added["id"])
            after = strata.concepts.quotes(concept)

        assert absent.value.code == "quote_not_found"
        assert added["id"] in [quote["id"] for quote in quotes["results"]]
        assert (evidence["count"], len(evidence["hits"])) == (2, 1)
        assert [each["id"] for each in context["sources"]] == [source]
        assert paths["paths"][0]["steps"][0]["id"] == str(filled.relationship_id)
        assert added["id"] not in [quote["id"] for quote in after["results"]]


class TestRelationships:
    def test_and_their_types_are_added_changed_and_deleted(self, key, filled):
        first, second = str(filled.concept_id), str(filled.near_concept_id)
        with asking(key) as strata:
            kind = strata.relationships.create_type("knowledge", "NESTS_BY", category="home")
            changed = strata.relationships.update_type(kind["id"], description="Nests near.")
            types = strata.relationships.types("knowledge", category="home")
            edge = strata.relationships.create("knowledge", first, kind["id"], second)
            page = strata.relationships.list("knowledge", concept=first, type=kind["id"])
            read = strata.relationships.get(edge["id"])
            strata.relationships.delete(edge["id"])
            with pytest.raises(NotFound):
                strata.relationships.get(edge["id"])
            deletion = strata.relationships.delete_type(kind["id"])
            with pytest.raises(NotFound):
                strata.relationships.type(kind["id"])

        assert types["results"] == [changed]
        assert page["results"] == [read] == [edge]
        assert deletion["deleted"]

    def test_emerge_and_are_accepted_or_dismissed(self, key, filled):
        pair, kind = str(filled.pair_id), str(filled.type_id)
        with asking(key) as strata:
            page = strata.relationships.emergent("knowledge", bridge_similarity=0.1)
            dismissed = strata.relationships.dismiss(pair)
            edge = strata.relationships.accept(pair, kind, reversed=True)
            with pytest.raises(NotFound):
                strata.relationships.accept(UNKNOWN_ID, kind)

        assert [each["id"] for each in page["results"]] == [pair]
        assert page["results"][0]["bridges"]
        assert dismissed["state"] == "dismissed"
        assert edge["source"] == page["results"][0]["concepts"][1]


class TestOperations:
    def test_regenerate_and_cancel(self, key, filled):
        with asking(key) as strata:
            started = strata.regenerations.start(type="question", index="full", limit=1)
            listed = strata.regenerations.list(limit=1)
            cancelled = strata.regenerations.cancel(started["id"])
            ended = strata.regenerations.wait(started["id"], timeout=0)
            with pytest.raises(InvalidRequest) as wrong:
                strata.regenerations.start(type="poem")

        assert started["state"] == "running"
        assert listed["results"][0]["id"] == started["id"]
        assert cancelled["state"] == ended["state"] == "cancelled"
        assert "question" in wrong.value.allowed

    def test_evaluate_and_read_the_results(self, key, filled):
        with asking(key) as strata:
            started = strata.evaluations.start(
                "plain",
                systems=["hybrid"],
                measures=["R@100"],
                queries={"q": "heron waits for fish"},
                qrels={"q": {"d0": 1}},
            )
            measure(started["id"])
            seen = [each for each in strata.evaluations.follow(started["id"])]
            done = strata.evaluations.wait(started["id"])
            report = strata.evaluations.report(started["id"])
            listed = strata.evaluations.list("plain")
            strata.evaluations.delete(started["id"])
            with pytest.raises(NotFound):
                strata.evaluations.get(started["id"])

        assert seen == [done]
        assert done["results"][0]["measures"] == {"R@100": 1.0}
        assert report.startswith("<!doctype html>")
        assert started["id"] in [each["id"] for each in listed["results"]]

    def test_verify_one_index_and_all(self, key, filled):
        with asking(key) as strata:
            plain = strata.verify("plain")
            reports = strata.verify()
            builds = strata.request("GET", "indexes/plain/builds/")

        assert (plain["index"], plain["point_count"]) == ("plain", plain["node_count"])
        assert {report["index"] for report in reports} >= {"plain", "knowledge"}
        assert builds["count"] == 1 + len(plain["beside"])

    def test_need_their_scope(self, key, filled):
        with asking(key) as strata:
            reader = (strata.create_key("a reader"))["secret"]
        with asking(reader) as strata:
            with pytest.raises(AccessDenied) as denied:
                strata.verify("plain")

        assert denied.value.code == "missing_scope"
