"""Emergent pairs. Tests that write to the store are in ``test_emergent_pairs_after_writes.py``."""

import uuid

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from concepts import emergent_pairs, services, tasks
from concepts.emergent_pairs import nodes_due_for_pairing, update_emergent_pairs
from concepts.models import Concept, EmergentPair, Relationship
from indexing.models import IndexBuild
from indexing.stores import get_store
from tests.concepts.conftest import INDEX
from tests.factories import load_index, sync

EMERGENT = "/api/v1/emergent/"
# Labels of eight words: a twin shares seven (similarity 0.875), a cousin six (0.75).
LABELS = {
    "one": "alpha beta gamma delta epsilon zeta eta theta",
    "twin": "alpha beta gamma delta epsilon zeta eta iota",
    "cousin": "alpha beta gamma delta epsilon zeta kappa lambda",
    "stranger": "granite cools slowly under the ground",
}

pytestmark = pytest.mark.django_db


def survey(build):
    while update_emergent_pairs(build):
        pass


def pairs():
    return {
        frozenset((pair.first.label, pair.second.label)) for pair in EmergentPair.objects.open()
    }


def make_concepts(build):
    made = {name: services.create_concept(INDEX, label) for name, label in LABELS.items()}
    sync(build)
    return made


@pytest.fixture(scope="module")
def concepts(shared_store):
    return make_concepts(load_index(INDEX))


@pytest.fixture
def knowledge(concepts):
    return IndexBuild.objects.live().get(index=INDEX)


@pytest.fixture
def near(concepts, knowledge):
    """The only pair with a similarity above 0.85."""
    survey(knowledge)
    return EmergentPair.objects.select_related("first", "second").get()


@pytest.fixture
def kind(knowledge):
    return services.create_relationship_type(INDEX, "EQUALS")


class TestUpdateEmergentPairs:
    def test_stores_only_pairs_above_the_threshold(self, near):
        assert {near.first.label, near.second.label} == {LABELS["one"], LABELS["twin"]}
        assert near.similarity == pytest.approx(0.875, abs=0.01)

    def test_searches_once_for_each_concept(self, near, knowledge, monkeypatch):
        monkeypatch.setattr(get_store(), "search_many", pytest.fail)

        assert update_emergent_pairs(knowledge) == 0
        assert not nodes_due_for_pairing(knowledge).exists()

    def test_ignores_builds_that_are_not_live(self, concepts, knowledge):
        knowledge.index.live_build = None

        assert update_emergent_pairs(knowledge) == 0

    def test_is_enqueued_by_the_reconciliation(self, concepts):
        tasks.reconcile_concepts()

        assert len(pairs()) == 1

    def test_deletes_a_pair_with_one_of_its_concepts(self, near, concepts):
        services.remove_entity(Concept, concepts["twin"].pk)

        assert not EmergentPair.objects.exists()

    def test_continues_until_all_concepts_are_compared(self, concepts, knowledge, monkeypatch):
        monkeypatch.setattr(emergent_pairs, "CONCEPTS_PER_REQUEST", 2)
        monkeypatch.setattr(emergent_pairs, "MAX_CONCEPTS_PER_CALL", 3)

        assert update_emergent_pairs(knowledge) == 3
        assert update_emergent_pairs(knowledge, should_stop=lambda: True) == 0
        survey(knowledge)
        assert len(pairs()) == 1


class TestEmergentRelationships:
    @pytest.mark.parametrize("is_reversed", [False, True])
    def test_become_relationships_when_accepted(self, client, near, kind, is_reversed):
        given = {"type": str(kind.pk), "reversed": is_reversed}

        answer = client.post(f"{EMERGENT}{near.pk}/accept", given, format="json")

        assert answer.status_code == 201
        edge = Relationship.objects.get()
        ends = (edge.source_id, edge.target_id)
        assert ends == ((near.second_id, near.first_id) if is_reversed else
                        (near.first_id, near.second_id))  # fmt: skip
        assert client.get(EMERGENT, {"index": INDEX}).json()["count"] == 0

    def test_are_listed_again_once_their_relationship_is_deleted(self, client, near, kind):
        client.post(f"{EMERGENT}{near.pk}/accept/", {"type": str(kind.pk)}, format="json")
        Relationship.objects.all().delete()

        assert client.get(EMERGENT, {"index": INDEX}).json()["count"] == 1

    def test_stay_dismissed_when_they_are_found_again(self, client, near, knowledge):
        said = client.post(f"{EMERGENT}{near.pk}/dismiss")
        Concept.objects.update(pairing_input_hash="")
        survey(knowledge)

        assert said.json()["state"] == "dismissed"
        assert client.get(EMERGENT, {"index": INDEX}).json()["count"] == 0
        dismissed = client.get(EMERGENT, {"index": INDEX, "state": "dismissed"}).json()
        assert [each["id"] for each in dismissed["results"]] == [str(near.pk)]

    @pytest.mark.parametrize(
        ("given", "status", "field"),
        [
            ({}, 400, "index"),
            ({"index": "none"}, 404, "index"),
            ({"index": INDEX, "min_similarity": 2}, 400, "min_similarity"),
            ({"index": INDEX, "state": "new"}, 400, "state"),
            ({"index": INDEX, "near": 1}, 400, "near"),
        ],
    )
    def test_name_the_wrong_parameter(self, client, knowledge, given, status, field):
        answer = client.get(EMERGENT, given)

        assert (answer.status_code, answer.json()["field"]) == (status, field)

    def test_below_the_threshold_are_computed_on_request(self, client, near, concepts, kind):
        def ask(**given):
            answer = client.get(EMERGENT, {"index": INDEX, "min_similarity": 0.5, **given}).json()
            return answer["count"], [
                ({each["label"] for each in pair["concepts"]}, pair["id"])
                for pair in answer["results"]
            ]

        one, twin, cousin = (LABELS[name] for name in ("one", "twin", "cousin"))
        count, [stored, *computed] = ask()
        page = ask(limit=1, offset=1)
        services.relate_concepts(INDEX, concepts["one"].pk, kind.pk, concepts["cousin"].pk)
        client.post(f"{EMERGENT}{near.pk}/dismiss")
        left = ask()

        assert count == 3
        assert stored == ({one, twin}, str(near.pk))
        assert {frozenset(labels) for labels, _ in computed} == {
            frozenset((one, cousin)), frozenset((twin, cousin))
        }  # fmt: skip
        assert {id for _, id in computed} == {None}
        assert page == (3, computed[:1])
        assert left == (1, [({twin, cousin}, None)])
        assert EmergentPair.objects.count() == 1

    def test_are_not_computed_for_too_many_concepts(self, client, near, monkeypatch):
        monkeypatch.setattr("concepts.knowledge.emergent.MAX_CONCEPTS_COMPARED", 3)

        answer = client.get(EMERGENT, {"index": INDEX, "min_similarity": 0.5})

        assert (answer.status_code, answer.json()["field"]) == (400, "min_similarity")
        assert client.get(EMERGENT, {"index": INDEX, "min_similarity": 0.86}).status_code == 200

    def test_are_unknown_if_the_id_does_not_exist(self, client, near, kind):
        none = uuid.uuid4()
        gone = client.post(f"{EMERGENT}{none}/accept", {"type": str(kind.pk)}, format="json")
        typeless = client.post(f"{EMERGENT}{near.pk}/accept", {"type": str(none)}, format="json")

        assert (gone.status_code, gone.json()["code"]) == (404, "unknown_pair")
        assert client.post(f"{EMERGENT}{none}/dismiss").status_code == 404
        assert (typeless.status_code, typeless.json()["field"]) == (400, "type")

    def test_require_a_key(self, near):
        for action in ("accept", "dismiss"):
            assert APIClient().post(f"{EMERGENT}{near.pk}/{action}").status_code == 401
        assert APIClient().get(EMERGENT, {"index": INDEX}).status_code == 401


def test_the_admin_lists_open_and_dismissed_pairs(admin_client, near):
    emergent_pairs.dismiss_pair(near.pk)
    url = reverse("admin:concepts_emergentpair_changelist")

    def count(review):
        return admin_client.get(url, {"review": review}).context["cl"].result_count

    assert (count("open"), count("dismissed")) == (0, 1)
