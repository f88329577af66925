"""Concepts in a second build of their index, and with the real model."""

import pytest

from concepts import services
from indexing.models import IndexBuild
from indexing.services import (
    plan_nodes,
    plan_unannounced_standalone_nodes,
    sync_nodes,
)
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.concepts.conftest import INDEX
from tests.factories import give, load_index, sync
from tests.indexed import list_unplanned


class TestASecondBuild:
    def test_has_the_concepts_with_copied_vectors(self, knowledge, heron, embedder, relocations):
        document = give("The heron stands in the shallows.", index=INDEX)
        services.create_relationship_type(INDEX, "EATS")
        sync(knowledge, document)
        sync(knowledge)
        recipe = {**knowledge.recipe, "chunks": {"strategies": [{"name": "paragraph"}]}}
        second = IndexBuild.objects.create(
            index=knowledge.index,
            number=2,
            recipe=recipe,
            fingerprint="other",
        )
        embedder.embedded.clear()

        for artifact in list_unplanned(second):
            plan_nodes(artifact.pk, second)
        plan_unannounced_standalone_nodes(second)
        while sync_nodes(second):
            pass

        assert get_store().count(second.collection("concept")) == 1
        assert get_store().count(second.collection("relationship_type")) == 1
        assert heron.text not in embedder.embedded
        assert verify_build(second).findings == verify_build(knowledge).findings == {}


class TestTheRealModel:
    @pytest.fixture
    def graph(self, db, store):
        build = load_index(INDEX)
        concepts = [
            services.create_concept(INDEX, label, description=about)
            for label, about in (
                ("Photosynthesis", "Plants turn light and water into sugar"),
                ("Crop yield", "How much grain a field gives"),
                ("Soil erosion", "Wind and rain carry the ground away"),
            )
        ]
        types = [
            services.create_relationship_type(INDEX, name, description=about)
            for name, about in (
                ("ENABLES", "makes possible, allows"),
                ("CONTRADICTS", "speaks against, refutes"),
            )
        ]
        services.relate_concepts(INDEX, concepts[0].pk, types[0].pk, concepts[1].pk)
        services.relate_concepts(INDEX, concepts[0].pk, types[1].pk, concepts[2].pk)
        document = give("Wheat gives more grain where bees visit it.", index=INDEX)
        sync(build, document)
        sync(build)
        return concepts

    def test_ranks_paths_by_the_meaning_of_their_types(self, graph, client):
        url = f"/api/v1/concepts/{graph[0].pk}/paths"

        [permitted, _] = client.get(url, {"like": "permits"}).json()["paths"]
        [disputed, _] = client.get(url, {"like": "disputes"}).json()["paths"]

        assert permitted["steps"][0]["type"]["name"] == "ENABLES"
        assert disputed["steps"][0]["type"]["name"] == "CONTRADICTS"

    def test_routes_a_question_to_the_nearest_concept_or_source(self, graph, client):
        def entry(query):
            content = {"index": INDEX, "query": query}
            return client.post("/api/v1/search/route", content, format="json").json()["entry"]

        assert entry("how do plants use sunlight")["id"] == str(graph[0].pk)
        assert entry("do bees help wheat")["kind"] == "source"
