# ruff: noqa: F811 (the parameter ``graph`` is the imported fixture)
"""Knowledge searches after writes to the store: each test has the graph to itself."""

from functools import partial

import pytest

from access.grants import Grant
from concepts.quotes import add_quote, relocate_quotes
from concepts.retrievers import ConceptRetriever, RelationshipTypeRetriever, SubgraphRetriever
from concepts.services import create_concept, create_relationship_type, relate_concepts
from documents.services import TextContent, replace_content
from indexing.stores import get_store
from tests.concepts.conftest import INDEX
from tests.concepts.test_searches import (
    API,
    HERON,
    give_pages,
    graph,  # noqa: F401
    labels,
    search_knowledge,
)
from tests.factories import give, load_index, sync


@pytest.fixture
def search(client, graph):
    return partial(search_knowledge, client)


class TestConcepts:
    def test_whose_point_has_another_text_are_not_returned(self, search, graph, knowledge, caplog):
        pk = graph["Heron"].pk
        collection = knowledge.collection("concept")
        [point] = get_store().retrieve(collection, [pk]).values()
        get_store().replace_payloads(collection, {pk: {**point.payload, "text": "A crane"}})

        assert "Heron" not in labels(search("concepts", "bird that wades")["hits"])
        assert "Integrity error" in caplog.text


class TestWithoutTheNameOfAnIndex:
    def test_the_only_index_that_holds_concepts_is_searched(self, client, graph):
        notes = load_index("plain")
        sync(notes, give("Herons are patient.", index="plain"))

        def search(name):
            return client.post(f"{API}/search/{name}", {"query": "heron"}, format="json")

        for name in ("concepts", "relationships", "route", "blend", "subgraph"):
            assert search(name).json()["index"] == INDEX
        assert search("sources").json()["allowed"] == [INDEX, "plain"]
        assert search("questions").json()["detail"] == "No index holds questions."


class TestEntitiesThatOnlyOthersMaySee:
    """They are nearer to the query than the 25 that everyone may see."""

    @pytest.fixture
    def nobody(self, knowledge):
        secret = give(HERON, index=INDEX, groups=["staff"])
        first, *others = (create_concept(INDEX, f"heron {number}") for number in range(31))
        for number, concept in enumerate(others):
            add_quote(concept.pk, "heron stands", artifact_id=secret.pk)
            type_ = create_relationship_type(INDEX, f"HERON {number}")
            relate_concepts(INDEX, first.pk, type_.pk, concept.pk)
        add_quote(first.pk, "heron stands", artifact_id=secret.pk)
        for number in range(25):
            create_concept(INDEX, f"heron of the public ponds {number}")
            create_relationship_type(INDEX, f"HERON OF THE PUBLIC PONDS {number}")
        sync(knowledge, secret)
        return Grant(groups=frozenset())

    @pytest.mark.parametrize("limit", [1, 5, 25, 30])
    def test_leave_no_gap_in_searches(self, nobody, limit):
        given = {"grant": nobody, "limit": limit}

        concepts = ConceptRetriever(INDEX, **given).search("heron").found
        types = RelationshipTypeRetriever(INDEX, **given).search("heron").found
        subgraph = SubgraphRetriever(INDEX, min_similarity=0, **given).search("heron").found

        for hits in (concepts, types, subgraph.concepts, subgraph.types):
            assert len(hits) == min(limit, 25)


class TestSources:
    def test_with_the_words_of_the_query_rank_first_in_hybrid_and_sparse_mode(
        self, search, graph, knowledge, embedder, monkeypatch
    ):
        said = give("A claim keeps its epistemic status.", index=INDEX)
        like = give("What anybody can know about the world.", index=INDEX)
        sync(knowledge, said, like)
        embed_query = embedder.embed_query
        monkeypatch.setattr(
            embedder, "embed_query", lambda query: embed_query(like.sources.get().text)
        )

        def first(mode):
            [hit] = search("sources", "epistemic status", mode=mode, limit=1)["hits"]
            return hit["artifact"]["id"]

        assert first("dense") == str(like.pk)
        assert first("hybrid") == first("sparse") == str(said.pk)

    def test_include_their_neighbours(self, search, client, knowledge, relocations):
        pages = tuple(f"{word} begins here and goes on." for word in ("Alpha", "Beta", "Gamma"))
        sync(knowledge, give_pages(pages))

        [hit] = search("sources", "beta begins", limit=1, window=1)["hits"]

        assert [each["text"] for each in hit["neighbours"]] == [pages[0], pages[2]]

    def test_are_marked_stale_after_an_edit_and_repaired(self, search, graph, knowledge):
        document = graph["documents"]["heron"]
        replace_content(document.pk, TextContent((HERON.replace("shallows", "shallowz"),)))

        stale = {hit["artifact"]["id"]: hit["stale"] for hit in search("sources")["hits"]}
        quotes = {
            quote["quote"]: quote["verdict"]
            for hit in search("concepts")["hits"]
            for quote in hit["evidence"]
        }
        relocate_quotes(document.pk)
        sync(knowledge, document)
        relocated = search("sources", include_concepts=True)["hits"]

        assert stale == {
            str(document.pk): True,
            str(graph["documents"]["granite"].pk): False,
        }
        assert set(quotes.values()) == {"stale"}
        assert not any(hit["stale"] for hit in relocated)
        assert {each["evidence"]["verdict"] for each in relocated[0]["concepts"]} == {"exact"}


class TestEvidence:
    def test_is_ordered_by_similarity_to_the_query(self, client, graph, knowledge):
        concept = graph["Fish"]
        other = give("Fish are sold at the harbour market on Friday.", index=INDEX)
        add_quote(concept.pk, "Fish are sold", artifact_id=other.pk)
        sync(knowledge, other)
        url = f"{API}/concepts/{concept.pk}/evidence"

        def quotes(**given):
            hits = client.get(url, given).json()["hits"]
            return [hit["quote"] for hit in hits]

        assert quotes() == ["waits for fish", "Fish are sold"]
        assert quotes(query="market on friday") == ["Fish are sold", "waits for fish"]
        posted = client.post(f"{url}/", {"query": "the heron at dawn"}, format="json").json()
        assert [hit["quote"] for hit in posted["hits"]] == ["waits for fish", "Fish are sold"]
        assert posted["hits"][0]["similarity"] > posted["hits"][1]["similarity"]
        assert quotes(limit=1, offset=1) == ["Fish are sold"]

    def test_is_compared_by_the_chunk_that_contains_the_quote(self, client, graph, knowledge):
        concept = graph["Granite"]
        filler = "Nothing else is said for a good while here. " * 12
        document = give(f"Granite opens the talk. {filler}Granite ends it at noon.", index=INDEX)
        for quote in ("Granite opens", "Granite ends"):
            add_quote(concept.pk, quote, artifact_id=document.pk)
        sync(knowledge, document)

        url = f"{API}/concepts/{concept.pk}/evidence"
        hits = client.get(url, {"query": "ends it at noon"}).json()["hits"]

        assert document.sources.count() == 1
        assert [hit["quote"] for hit in hits] == ["Granite ends", "Granite opens"]
        assert hits[0]["similarity"] > hits[1]["similarity"]


class TestSimilarSources:
    def test_are_found_across_indexes_without_the_source_itself(self, client, graph, build):
        source = graph["documents"]["heron"].sources.get()
        twin = give(HERON.replace("dawn", "dusk"), index="plain")
        sync(build, twin)
        url = f"{API}/sources/{source.pk}/similar"

        own = client.get(url).json()
        both = client.get(f"{url}/?index={INDEX}&index=plain").json()

        assert [hit["artifact"]["id"] for hit in own["hits"]] == [
            str(graph["documents"]["granite"].pk)
        ]
        assert both["index"] == [INDEX, "plain"]
        assert both["hits"][0]["artifact"]["id"] == str(twin.pk)
        assert both["hits"][0]["index"] == "plain"

    def test_can_be_limited_to_other_documents(self, client, graph, knowledge, relocations):
        pages = tuple(f"{word} heron begins here." for word in ("Alpha", "Beta", "Gamma"))
        document = give_pages(pages)
        sync(knowledge, document)
        url = f"{API}/sources/{document.sources.first().pk}/similar"

        every = client.get(url).json()["hits"]
        others = client.get(url, {"other_documents": "true"}).json()["hits"]

        assert [hit["artifact"]["id"] for hit in every[:2]] == [str(document.pk)] * 2
        assert {hit["artifact"]["id"] for hit in others} == {
            str(each.pk) for each in graph["documents"].values()
        }


class TestRelationships:
    def test_are_similar_to_their_name_and_not_to_their_category(self, client, knowledge):
        create_relationship_type(
            INDEX, "SUPPORTS", category="epistemic",
            description="gives reasons to believe that a claim holds",
        )  # fmt: skip
        sync(knowledge)

        def similarity(query):
            [hit] = search_knowledge(client, "relationships", query)["hits"]
            return hit["score"]

        assert similarity("supports") > 0.7
        assert similarity("reasons to believe that a claim holds") > 0.5
        assert similarity("epistemic status") < 0.2


class TestPaths:
    def test_follow_a_type_by_its_exact_name_whatever_its_description(self, client, knowledge):
        ends = [create_concept(INDEX, name) for name in ("Diet", "Health")]
        kind = create_relationship_type(
            INDEX, "DEPENDS_ON", category="structural",
            description="needs something else to exist or to work, now or in the long run",
        )  # fmt: skip
        relate_concepts(INDEX, ends[0].pk, kind.pk, ends[1].pk)
        sync(knowledge)
        url = f"{API}/concepts/{ends[0].pk}/paths"

        for like in ("DEPENDS_ON", "depends on", "causes, Depends On"):
            [path] = client.get(url, {"like": like, "min_similarity": 0.8}).json()["paths"]
            assert (path["similarity"], path["steps"][0]["type"]["name"]) == (1.0, "DEPENDS_ON")


class TestSourcesOfVersions:
    def test_are_one_hit_of_the_newest(self, knowledge, client):
        heron = f"{HERON} It counts {{}} fish, swallows them whole and flies home at dusk."
        documents = [
            give(heron.format(number), index=INDEX, title="Heron", external_id=f"heron-v{number}")
            for number in (1, 2)
        ]
        sync(knowledge, *documents)

        [hit] = search_knowledge(client, "sources")["hits"]

        assert hit["artifact"]["external_id"] == "heron-v2"
        assert hit["chunks"][0]["folded"]["versions"] == 1
        assert len(search_knowledge(client, "sources", versions="all")["hits"]) == 2
