"""Knowledge searches over HTTP: fields of the answers, verdicts, and refused parameters.

Tests that write to the store are in ``test_searches_after_writes.py``.
"""

import uuid
from functools import partial

import pytest
from rest_framework.test import APIClient

from access.grants import EVERYTHING, Grant
from concepts import services
from concepts.exceptions import UnknownConcept
from concepts.knowledge.shared import find_shared
from concepts.models import Concept
from concepts.quotes import add_quote
from concepts.retrievers import ConceptRetriever, RelationshipTypeRetriever
from documents.models import Source
from documents.services import TextContent
from tests.concepts.conftest import INDEX
from tests.factories import give, load_index, sync

API = "/api/v1"
HERON = "The heron stands in the shallows at dawn and waits for fish."
GRANITE = "Granite cools slowly under the ground until crystals grow."

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def shared_graph(shared_store):
    return make_graph(load_index(INDEX))


@pytest.fixture
def graph(knowledge):
    return make_graph(knowledge)


def make_graph(build):
    """Two documents, three concepts, two types and two edges, synced."""
    documents = {"heron": give(HERON, index=INDEX), "granite": give(GRANITE, index=INDEX)}
    made = {
        name: services.create_concept(INDEX, name, description=about)
        for name, about in (
            ("Heron", "bird that wades and waits"),
            ("Fish", "swims in water"),
            ("Granite", "rock of crystals"),
        )
    }
    eats = services.create_relationship_type(INDEX, "EATS", description="feeds on")
    bears = services.create_relationship_type(INDEX, "UNDERLIES", description="lies below")
    services.relate_concepts(INDEX, made["Heron"].pk, eats.pk, made["Fish"].pk)
    services.relate_concepts(INDEX, made["Granite"].pk, bears.pk, made["Fish"].pk)
    add_quote(made["Heron"].pk, "the heron stands", artifact_id=documents["heron"].pk)
    add_quote(made["Fish"].pk, "waits for fish", artifact_id=documents["heron"].pk)
    sync(build, *documents.values())
    sync(build)
    return {**made, "EATS": eats, "UNDERLIES": bears, "documents": documents}


@pytest.fixture
def heron(shared_graph):
    return shared_graph["Heron"]


@pytest.fixture
def search(client, shared_graph):
    return partial(search_knowledge, client)


def search_knowledge(client, name, query="heron", **given):
    content = {"index": INDEX, "query": query, **given}
    answer = client.post(f"{API}/search/{name}", content, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def labels(hits):
    return [hit["label"] for hit in hits]


class TestConcepts:
    def test_are_found_by_meaning_with_verified_quotes(self, search, shared_graph, client):
        answer = search("concepts", "bird that wades", limit=1)
        got = client.get(f"{API}/search/concepts/", {"collection": INDEX, "q": "bird that wades"})

        [hit] = answer["hits"]
        assert (answer["index"], answer["build"]) == (INDEX, 1)
        assert (hit["label"], hit["kind"], hit["verdict"]) == ("Heron", "concept", "exact")
        [quote] = hit["evidence"]
        text = Source.objects.get(pk=quote["source"]["id"]).text
        assert text[quote["start_offset"] : quote["end_offset"]] == quote["quote"]
        assert quote["verdict"] == "exact"
        assert [way["way"] for way in hit["ways"]] == ["concept"]
        assert got.json()["hits"][0] == hit
        fixed = {"score", "score_kind", "node_id", "kind", "text", "start_offset", "end_offset",
                 "verdict", "artifact", "page", "source", "metadata"}  # fmt: skip
        assert fixed <= hit.keys()
        assert len(got.json()["hits"]) == 3

    def test_are_paged_without_gaps_or_repeats(self, search):
        every = search("concepts")["hits"]
        pages = [search("concepts", limit=1, offset=n)["hits"][0] for n in range(3)]

        assert labels(pages) == labels(every)
        assert search("concepts", "wades", min_similarity=0.999)["hits"] == []

    def test_that_changed_since_are_stale(self, search, shared_graph):
        services.edit_entity(Concept, shared_graph["Heron"].pk, description="bird that stands")

        [hit] = search("concepts", "heron bird", limit=1)["hits"]

        assert (hit["label"], hit["verdict"]) == ("Heron", "stale")

    def test_that_were_deleted_are_not_returned(self, search, shared_graph):
        services.remove_entity(Concept, shared_graph["Heron"].pk)

        assert "Heron" not in labels(search("concepts")["hits"])


class TestRelationships:
    def test_are_found_by_their_types(self, search):
        [best, _] = search("relationships", "feeds on")["hits"]

        assert (best["name"], best["verdict"]) == ("EATS", "exact")
        [edge] = best["relationships"]
        assert (edge["source"]["label"], edge["target"]["label"]) == ("Heron", "Fish")


class TestExactNames:
    """EATS and Granite are less similar to these words than others are, apart from their names."""

    @pytest.mark.parametrize(
        "query", ["eats", "EATS", " eats ", "swims in water, eats", "eats,lies below"]
    )
    def test_of_types_come_first_with_similarity_1(self, search, query):
        [best, other] = search("relationships", query)["hits"]

        assert (best["name"], best["score"], best["verdict"]) == ("EATS", 1.0, "exact")
        assert best["ways"][0]["similarity"] == 1.0
        assert other["score"] < 1.0

    def test_may_be_written_with_spaces_for_underscores(self, search):
        services.create_relationship_type(INDEX, "DEPENDS_ON", description="is nothing without")

        for query in ("depends on", "Depends_On", "DEPENDS  ON"):
            [best, *_] = search("relationships", query)["hits"]
            assert (best["name"], best["score"]) == ("DEPENDS_ON", 1.0)

    def test_of_several_parts_are_all_found(self, search):
        hits = search("relationships", "underlies, eats", min_similarity=0.99)["hits"]

        assert {hit["name"]: hit["score"] for hit in hits} == {"EATS": 1.0, "UNDERLIES": 1.0}

    def test_are_paged_without_gaps_or_repeats(self, search):
        pages = [
            search("relationships", "underlies", limit=1, offset=n)["hits"][0]["name"]
            for n in range(2)
        ]

        assert pages == ["UNDERLIES", "EATS"]
        assert search("relationships", "underlies", offset=2)["hits"] == []

    def test_are_the_entry_of_a_route(self, search, shared_graph):
        by_type = search("route", "eats")["entry"]
        by_concept = search("route", "granite, rock of crystals")["entry"]

        assert by_type == {
            "kind": "relationship_type",
            "id": str(shared_graph["EATS"].pk),
            "similarity": 1.0,
        }
        assert (by_concept["kind"], by_concept["similarity"]) == ("concept", 1.0)

    def test_count_in_a_blend(self, search):
        granite, *_ = search("blend", "granite")["hits"]
        by_type = {hit["label"]: hit["ways"] for hit in search("blend", "eats")["hits"]}

        assert granite["label"] == "Granite"
        assert ("concept", 1.0) in [(way["way"], way["similarity"]) for way in granite["ways"]]
        assert ("relationship_type", 0.6) in [(w["way"], w["score"]) for w in by_type["Heron"]]
        assert ("relationship_type", 0.6) in [(w["way"], w["score"]) for w in by_type["Fish"]]

    def test_of_hidden_types_are_not_found(self, shared_graph):
        secret = give("Fish swim.", index=INDEX, groups=["staff"])
        hunts = services.create_relationship_type(INDEX, "HUNTS")
        hidden = services.create_concept(INDEX, "Otter")
        add_quote(hidden.pk, "Fish swim", artifact_id=secret.pk)
        services.relate_concepts(INDEX, hidden.pk, hunts.pk, shared_graph["Fish"].pk)
        nobody = Grant(groups=frozenset())

        types = RelationshipTypeRetriever(INDEX, grant=nobody).search("hunts").found
        concepts = ConceptRetriever(INDEX, grant=nobody).search("otter").found

        assert "HUNTS" not in [hit.entity.name for hit in types]
        assert "Otter" not in [hit.entity.label for hit in concepts]


class TestSources:
    def test_show_the_matching_chunk_and_their_concepts(self, search, shared_graph):
        source = shared_graph["documents"]["heron"].sources.get()

        [best, other] = search("sources", include_concepts=True)["hits"]

        assert (best["id"], best["text"], best["stale"]) == (str(source.pk), HERON, False)
        [chunk] = best["chunks"]
        assert HERON[chunk["start_offset"] : chunk["end_offset"]] == chunk["text"]
        assert chunk["verdict"] == "exact"
        assert best["similarity"] > other["similarity"]
        assert best["score"] == chunk["score"] > other["score"]
        assert best["score_kind"] == chunk["score_kind"] == "rrf"
        assert labels(best["concepts"]) == ["Heron", "Fish"]
        assert other["concepts"] == []

    @pytest.mark.parametrize(
        ("mode", "kind"), [("hybrid", "rrf"), ("dense", "cosine"), ("sparse", "bm25")]
    )
    def test_are_ranked_in_every_mode_with_their_cosine(self, search, shared_graph, mode, kind):
        [best, *others] = search("sources", mode=mode)["hits"]

        assert best["artifact"]["id"] == str(shared_graph["documents"]["heron"].pk)
        assert best["score_kind"] == kind
        [dense, _] = search("sources", mode="dense")["hits"]
        assert best["similarity"] == pytest.approx(dense["score"])
        assert len(others) == (0 if mode == "sparse" else 1)

    def test_are_paged_without_gaps_or_repeats(self, search):
        every = [hit["id"] for hit in search("sources")["hits"]]
        pages = [search("sources", limit=1, offset=n)["hits"][0]["id"] for n in range(2)]

        assert pages == every

    def test_can_be_filtered(self, search, shared_graph):
        granite = str(shared_graph["documents"]["granite"].pk)

        [hit] = search("sources", filter={"artifact_id": granite})["hits"]

        assert hit["artifact"]["id"] == granite

    @pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
    def test_are_limited_by_a_minimum_similarity(self, search, mode):
        every = search("sources", mode=mode)["hits"]

        assert len(search("sources", mode=mode, limit=1)["hits"]) == 1
        assert search("sources", mode=mode, min_similarity=0.99)["hits"] == []
        [similar] = search("sources", mode=mode, min_similarity=every[0]["similarity"] - 0.01)[
            "hits"
        ]
        assert similar["id"] == every[0]["id"]


class TestRoute:
    @pytest.mark.parametrize(
        ("query", "kind"),
        [
            ("granite rock of crystals", "concept"),
            ("cools slowly under the ground until crystals grow", "source"),
            ("feeds on", "relationship_type"),
        ],
    )
    def test_names_the_nearest_hit_of_all_kinds_as_the_entry(self, search, query, kind):
        answer = search("route", query)

        sorts = {"concept": "concepts", "source": "sources"}
        best = {
            "concept": answer["concepts"][0],
            "source": answer["sources"][0],
            "relationship_type": answer["relationship_types"][0],
        }
        assert answer["entry"] == {
            "kind": kind,
            "id": best[kind]["id"],
            "similarity": max(hit["score"] for hit in best.values()),
        }
        assert sorts.get(kind, "relationship_types") in answer

    def test_has_no_entry_if_nothing_is_similar(self, search):
        assert search("route", "wades", min_similarity=0.999)["entry"] is None

    def test_accepts_limits_for_each_kind(self, search):
        whole = search("route", "heron fish", min_similarity=-1)
        answer = search(
            "route",
            "heron fish",
            min_similarity=-1,
            concept_limit=2,
            source_limit=1,
            relationship_min_similarity=0.999,
            window=1,
            include_concepts=True,
            mode="hybrid",
        )

        sizes = {kind: len(whole[kind]) for kind in ("concepts", "sources", "relationship_types")}
        assert sizes == {"concepts": 3, "sources": 2, "relationship_types": 2}
        assert labels(answer["concepts"]) == labels(whole["concepts"])[:2]
        assert answer["relationship_types"] == []
        [source] = answer["sources"]
        assert source["score_kind"] == "rrf"
        assert labels(source["concepts"]) == ["Heron", "Fish"]


class TestBlend:
    def test_adds_the_weighted_scores_of_each_way(self, search, shared_graph):
        hits = {hit["label"]: hit for hit in search("blend", "the heron waits for fish")["hits"]}

        assert hits.keys() == {"Heron", "Fish", "Granite"}
        weights = {"concept": 1.0, "source": 0.8, "relationship_type": 0.6}
        for hit in hits.values():
            for way in hit["ways"]:
                assert way["weight"] == weights[way["way"]]
                assert way["score"] == pytest.approx(way["similarity"] * way["weight"])
            positive = [way["score"] for way in hit["ways"] if way["score"] > 0]
            assert hit["score"] == pytest.approx(sum(positive))
            assert hit["score_kind"] == "weighted_sum"
        fish = {way["way"]: way["through"] for way in hits["Fish"]["ways"]}
        source = shared_graph["documents"]["heron"].sources.get()
        assert fish["source"] == {"source": str(source.pk)}
        assert fish["relationship_type"].keys() == {"relationship_type", "relationship"}
        assert {way["way"] for way in hits["Granite"]["ways"]} == {"concept", "relationship_type"}

    def test_ranks_a_concept_found_in_several_ways_above_one_found_in_one(
        self, search, shared_graph
    ):
        services.relate_concepts(
            INDEX, shared_graph["Granite"].pk, shared_graph["EATS"].pk, shared_graph["Heron"].pk
        )

        hits = search("blend", "feeds on", min_similarity=0.3, concept_weight=0.0)["hits"]

        tied = {hit["label"]: hit["score"] for hit in hits}
        assert tied["Heron"] == tied["Fish"] == tied["Granite"]
        both, *one = search("blend", "granite feeds on", min_similarity=0.2)["hits"]
        assert both["label"] == "Granite"
        assert [way["way"] for way in both["ways"]] == ["relationship_type", "concept"]
        assert {hit["ways"][0]["score"] for hit in (both, *one)} == {one[0]["score"]}
        assert both["score"] > one[0]["score"]

    def test_uses_the_given_weights(self, search):
        only = {"concept_weight": 0.0, "source_weight": 1.0, "relationship_weight": 0.0}

        hits = search("blend", "the heron waits for fish", **only)["hits"]

        assert set(labels(hits[:2])) == {"Heron", "Fish"}
        assert hits[0]["ways"][0]["way"] == "source"
        assert hits[2]["score"] == 0.0


class TestSubgraph:
    def test_shows_concepts_above_the_threshold_and_their_edges(self, search):
        whole = search("subgraph", "heron fish swims in water", min_similarity=-1)
        part = search("subgraph", "fish swims in water", min_similarity=0.5)

        assert set(labels(whole["concepts"])) == {"Heron", "Fish", "Granite"}
        assert len(whole["relationships"]) == 2
        assert len(whole["evidence"]) == 2
        assert labels(part["concepts"]) == ["Fish"]
        assert part["relationship_count"] == len(part["relationships"]) == 2
        assert {edge["source"]["label"] for edge in part["relationships"]} == {"Heron", "Granite"}
        assert part["evidence"] == []

    def test_shows_edges_among_the_concepts_first(self, search, shared_graph, monkeypatch):
        monkeypatch.setattr("concepts.knowledge.graph.MAX_SUBGRAPH_EDGES", 1)

        answer = search("subgraph", "granite rock of crystals fish swims in water", limit=2)

        assert set(labels(answer["concepts"])) == {"Granite", "Fish"}
        [edge] = answer["relationships"]
        assert edge["source"]["label"] == "Granite"
        assert answer["relationship_count"] == 2

    def test_uses_a_default_threshold_of_0_7(self, search):
        answer = search("subgraph", "Fish swims in water")

        assert labels(answer["concepts"]) == ["Fish"]
        assert answer["concepts"][0]["score"] >= 0.7
        assert answer["sources"] == []


class TestEvidence:
    def test_that_cannot_be_compared_comes_last(self, client, shared_graph):
        other = give("Fish swim.", index=INDEX)
        add_quote(shared_graph["Fish"].pk, "Fish swim", artifact_id=other.pk)

        url = f"{API}/concepts/{shared_graph['Fish'].pk}/evidence"
        hits = client.get(url, {"query": "swim"}).json()["hits"]

        assert [(hit["quote"], hit["similarity"] is None) for hit in hits] == [
            ("waits for fish", False),
            ("Fish swim", True),
        ]


class TestContext:
    def test_shows_each_source_with_its_quotes_and_neighbours(
        self, client, shared_graph, relocations
    ):
        pages = tuple(f"{word} heron begins here." for word in ("Alpha", "Beta", "Gamma"))
        document = give_pages(pages)
        add_quote(shared_graph["Granite"].pk, "Beta heron", artifact_id=document.pk)
        url = f"{API}/concepts/{shared_graph['Granite'].pk}/context"

        [source] = client.get(url, {"window": 2}).json()["sources"]
        [alone] = client.get(url).json()["sources"]

        assert source["text"] == pages[1]
        assert [each["text"] for each in source["neighbours"]] == [pages[0], pages[2]]
        assert [each["quote"] for each in source["evidence"]] == ["Beta heron"]
        assert alone["neighbours"] == []


class TestPaths:
    def test_follow_edges_whose_types_are_similar_to_the_words(self, client, shared_graph):
        url = f"{API}/concepts/{shared_graph['Heron'].pk}/paths"

        near = client.get(url, {"like": "feeds on, eats", "min_similarity": 0.3}).json()["paths"]
        whole = client.get(url, {"like": "feeds on, lies below"}).json()["paths"]
        short = client.get(url, {"like": "feeds on", "depth": 1}).json()["paths"]

        [path] = near
        assert path["concepts"] == [str(shared_graph["Heron"].pk), str(shared_graph["Fish"].pk)]
        assert (path["steps"][0]["like"], path["similarity"]) == ("eats", 1.0)
        assert [len(path["steps"]) for path in whole] == [1, 2]
        assert whole[1]["concepts"][-1] == str(shared_graph["Granite"].pk)
        assert [step["reversed"] for step in whole[1]["steps"]] == [False, True]
        assert whole[1]["similarity"] == min(s["similarity"] for s in whole[1]["steps"])
        assert [len(path["steps"]) for path in short] == [1]


class TestShared:
    def ask(self, client, *concepts, **given):
        ids = ",".join(str(getattr(each, "pk", each)) for each in concepts)
        return client.get(f"{API}/concepts/shared", {"ids": ids, **given})

    def test_names_what_two_concepts_have_in_common(self, client, shared_graph):
        heron, fish, granite = (shared_graph[name] for name in ("Heron", "Fish", "Granite"))

        apart = self.ask(client, heron, granite).json()
        joined = self.ask(client, heron, fish).json()

        assert labels(apart["concepts"]) == ["Heron", "Granite"]
        assert (apart["relationships"], apart["sources"], apart["source_count"]) == ([], [], 0)
        [neighbour] = apart["neighbours"]
        assert neighbour["label"] == "Fish"
        assert labels(neighbour["concepts"]) == ["Heron", "Granite"]
        types = [edge["type"]["name"] for edge in neighbour["relationships"]]
        assert sorted(types) == ["EATS", "UNDERLIES"]
        assert [edge["type"]["name"] for edge in joined["relationships"]] == ["EATS"]
        assert (joined["neighbours"], joined["neighbour_count"]) == ([], 0)
        [source] = joined["sources"]
        assert source["text"] == HERON
        quotes = {each["label"]: each["evidence"] for each in source["concepts"]}
        assert quotes.keys() == {"Heron", "Fish"}
        assert quotes["Fish"]["quote"] == "waits for fish"
        assert quotes["Fish"]["verdict"] == "exact"

    def test_lists_what_most_of_them_share_first(self, client, shared_graph):
        heron, fish, granite = (shared_graph[name] for name in ("Heron", "Fish", "Granite"))
        moss, sand = (services.create_concept(INDEX, name) for name in ("Moss", "Sand"))
        eats = shared_graph["EATS"].pk
        for end in (heron, fish, granite):
            services.relate_concepts(INDEX, end.pk, eats, moss.pk)
        for end in (heron, fish):
            services.relate_concepts(INDEX, sand.pk, eats, end.pk)

        whole = self.ask(client, heron, fish, granite).json()
        first = self.ask(client, heron, fish, granite, limit=1).json()

        assert labels(whole["neighbours"]) == ["Moss", "Sand"]
        assert labels(first["neighbours"]) == ["Moss"]
        assert first["neighbour_count"] == 2

    def test_hides_what_the_key_may_not_see(self, shared_graph):
        heron, granite = shared_graph["Heron"].pk, shared_graph["Granite"].pk
        secret = give("Fish swim.", index=INDEX, groups=["staff"])
        add_quote(shared_graph["Fish"].pk, "Fish swim", artifact_id=secret.pk)
        nobody = Grant(groups=frozenset())

        assert find_shared([heron, granite], nobody, limit=5).neighbours == []
        assert len(find_shared([heron, granite], EVERYTHING, limit=5).neighbours) == 1
        with pytest.raises(UnknownConcept):
            find_shared([heron, shared_graph["Fish"].pk], nobody, limit=5)

    def test_refuses_wrong_ids(self, client, shared_graph):
        heron = shared_graph["Heron"]

        one = self.ask(client, heron)
        same = self.ask(client, heron, heron)
        word = self.ask(client, heron, "heron")
        none = client.get(f"{API}/concepts/shared")
        unknown = self.ask(client, heron, uuid.uuid4())

        for answer in (one, same, word, none):
            assert (answer.status_code, answer.json()["field"]) == (400, "ids")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_concept")
        assert unknown.json()["field"] == "ids"


class TestSimilarSources:
    def test_are_refused_for_a_source_that_is_not_indexed_yet(self, client, shared_graph):
        source = give("Fish swim.", index=INDEX).sources.get()

        answer = client.get(f"{API}/sources/{source.pk}/similar")

        assert (answer.status_code, answer.json()["code"]) == (409, "not_yet_indexed")


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "given", "field"),
        [
            ("concepts", {"index": "plain", "query": "x"}, "index"),
            ("concepts", {"index": INDEX}, "query"),
            ("concepts", {"index": INDEX, "query": " "}, "query"),
            ("concepts", {"index": INDEX, "collection": INDEX, "query": "x"}, "collection"),
            ("concepts", {"index": INDEX, "query": "x", "min_similarity": 2}, "min_similarity"),
            ("relationships", {"index": INDEX, "query": "x", "limit": 0}, "limit"),
            ("sources", {"index": INDEX, "query": "x", "window": 99}, "window"),
            ("sources", {"index": INDEX, "query": "x", "mode": "fuzzy"}, "mode"),
            ("sources", {"index": INDEX, "query": "x", "filter": {"nil": 1}}, "filter.nil"),
            ("route", {"index": INDEX, "query": "x", "offset": 1}, "offset"),
            ("route", {"index": INDEX, "query": "x", "source_limit": 0}, "source_limit"),
            ("blend", {"index": INDEX, "query": "x", "source_weight": -1}, "source_weight"),
            ("subgraph", {"index": INDEX, "query": "x", "limit": 1_000}, "limit"),
        ],
    )
    def test_name_the_parameter(self, client, shared_graph, name, given, field):
        load_index("plain")

        answer = client.post(f"{API}/search/{name}", given, format="json")

        assert (answer.status_code, answer.json()["field"]) == (400, field)

    @pytest.mark.parametrize(
        ("part", "given", "status", "field"),
        [
            ("evidence", {"quary": "x"}, 400, "quary"),
            ("evidence", {"query": " "}, 400, "query"),
            ("context", {"window": "x"}, 400, "window"),
            ("paths", {}, 400, "like"),
            ("paths", {"like": "x,,y"}, 400, "like"),
            ("paths", {"like": "x" * 201}, 400, "like"),
            ("paths", {"like": "x", "depth": 9}, 400, "depth"),
            ("paths", {"like": "x", "min_similarity": "nan"}, 400, "min_similarity"),
        ],
    )
    def test_name_the_wrong_parameter_of_a_concept_route(
        self, client, heron, part, given, status, field
    ):
        answer = client.get(f"{API}/concepts/{heron.pk}/{part}", given)

        assert (answer.status_code, answer.json()["field"]) == (status, field)

    def test_name_unknown_concepts_sources_and_indexes(self, client, shared_graph):
        for part in ("evidence", "context", "paths?like=x"):
            answer = client.get(f"{API}/concepts/{uuid.uuid4()}/{part}")
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown_concept")
        similar = client.get(f"{API}/sources/{uuid.uuid4()}/similar")
        unknown = client.post(f"{API}/search/route", {"index": "no", "query": "x"}, format="json")
        assert (similar.status_code, unknown.status_code) == (404, 404)

    def test_require_a_key(self, heron):
        stranger = APIClient()
        for name in ("concepts", "relationships", "sources", "route", "blend", "subgraph"):
            url = f"{API}/search/{name}"
            assert stranger.post(url, {}, format="json").status_code == 401
        for part in ("evidence", "context", "paths"):
            assert stranger.get(f"{API}/concepts/{heron.pk}/{part}").status_code == 401


def give_pages(pages):
    from documents.services import add_artifact

    return add_artifact(INDEX, TextContent(pages), title="Letters")[0]
