"""Emergent pairs after writes to the store: each test has the concepts to itself."""

import pytest

from concepts import services
from concepts.emergent_pairs import update_emergent_pairs
from concepts.models import Concept, EmergentPair
from tests.concepts.conftest import INDEX
from tests.concepts.test_emergent_pairs import EMERGENT, LABELS, make_concepts, pairs, survey
from tests.factories import give, sync


@pytest.fixture
def concepts(knowledge):
    return make_concepts(knowledge)


@pytest.fixture
def near(concepts, knowledge):
    survey(knowledge)
    return EmergentPair.objects.get()


class TestUpdateEmergentPairs:
    def test_searches_again_for_a_changed_concept_and_deletes_dissimilar_pairs(
        self, near, concepts, knowledge
    ):
        services.edit_entity(Concept, concepts["twin"].pk, label="a word apart")
        sync(knowledge)

        looked_at = update_emergent_pairs(knowledge)

        assert looked_at == 1
        assert pairs() == set()

    def test_finds_a_pair_that_became_similar(self, near, concepts, knowledge):
        nearer = LABELS["one"].replace("alpha", "omega")
        services.edit_entity(Concept, concepts["cousin"].pk, label=nearer)
        sync(knowledge)

        survey(knowledge)

        assert frozenset((LABELS["one"], nearer)) in pairs()

    def test_keeps_a_pair_that_only_one_of_both_searches_finds(
        self, near, concepts, knowledge, settings
    ):
        settings.STRATA_EMERGENT_NEIGHBOURS = 1
        nearer = services.create_concept(INDEX, f"{LABELS['one']} more")
        sync(knowledge)
        Concept.objects.filter(pk=concepts["one"].pk).update(pairing_input_hash="")

        survey(knowledge)

        assert pairs() == {
            frozenset((LABELS["one"], LABELS["twin"])),
            frozenset((LABELS["one"], nearer.label)),
        }


class TestEmergentRelationships:
    def test_are_listed_with_their_bridging_sources(self, client, near, knowledge, relocations):
        bridge = give(LABELS["one"], index=INDEX, title="")
        far = give(LABELS["stranger"], index=INDEX, title="")
        sync(knowledge, bridge, far)

        [pair] = client.get(EMERGENT, {"index": INDEX}).json()["results"]
        [strict] = client.get(EMERGENT, {"index": INDEX, "bridge_similarity": 0.99}).json()[
            "results"
        ]

        assert {each["label"] for each in pair["concepts"]} == {LABELS["one"], LABELS["twin"]}
        assert (pair["way"], pair["state"]) == ("nearness", "open")
        [found] = pair["bridges"]
        assert found["artifact"]["id"] == str(bridge.pk)
        assert min(found["similarities"]) > 0.75
        assert [chunk["verdict"] for chunk in found["chunks"]] == ["exact", "exact"]
        assert strict["bridges"] == []
