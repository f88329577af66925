import uuid

import pytest

from concepts import services
from concepts.exceptions import UnknownConcept
from concepts.models import Concept, Instance, Relationship, RelationshipType
from concepts.quotes import add_quote
from core.exceptions import InvalidInput
from documents.exceptions import ContentConflict
from documents.models import Artifact, PendingRevision
from indexing import revisions
from indexing.models import Node
from indexing.revisions import is_revision_visible
from indexing.services import plan_unannounced_standalone_nodes
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.concepts.conftest import INDEX
from tests.factories import give, sync

TEXT = "The heron stands in the shallows at dawn. Granite cools slowly under the ground."


class TestCreateConcept:
    def test_creates_one_node_from_label_description_and_terms(self, knowledge, heron):
        sync(knowledge)

        [node] = Node.objects.filter(build=knowledge)
        assert (node.kind, node.point_id, node.state) == ("concept", heron.pk, "synced")
        assert node.text == "Heron\nA wading bird\nArdea"
        [point] = (
            get_store()
            .retrieve(knowledge.collection("concept"), [heron.pk], with_vectors=True)
            .values()
        )
        assert point.payload["label"] == "Heron"
        assert point.dense is not None
        assert point.sparse is None
        assert verify_build(knowledge).findings == {}

    def test_stores_a_revision_that_searches_can_wait_for(self, heron):
        assert PendingRevision.objects.filter(changed_id=heron.pk, pk=heron.revision).exists()

    def test_shows_its_change_once_synced_and_emits_no_document_event(
        self, knowledge, heron, monkeypatch
    ):
        announced = []
        monkeypatch.setattr(revisions, "announce", lambda *event: announced.append(event))
        document = give(TEXT, index=INDEX)
        before = is_revision_visible(INDEX, knowledge.pk, ["concept"], heron.revision)

        sync(knowledge, document)
        revisions.complete_visible_revisions()

        assert not before
        assert is_revision_visible(INDEX, knowledge.pk, ["concept"], heron.revision)
        assert not PendingRevision.objects.exists()
        assert [event[1]["artifact_id"] for event in announced] == [str(document.pk)]

    def test_refuses_an_existing_label_in_any_case(self, heron):
        with pytest.raises(ContentConflict, match="already has a concept named 'HERON'"):
            services.create_concept(INDEX, " HERON ")

    def test_allows_a_relationship_type_with_the_same_name(self, heron):
        assert services.create_relationship_type(INDEX, "Heron").name == "Heron"

    @pytest.mark.parametrize(
        ("index", "given", "field"),
        [
            ("plain", {"label": "Heron"}, "index"),
            (INDEX, {"label": "  "}, "label"),
            (INDEX, {"label": "x" * 301}, "label"),
            (INDEX, {"label": "x", "description": "x" * 5_001}, "description"),
            (INDEX, {"label": "x", "search_terms": [str(n) for n in range(51)]}, "search_terms"),
        ],
    )
    def test_names_the_wrong_field(self, knowledge, index, given, field):
        with pytest.raises(InvalidInput) as caught:
            services.create_concept(index, **given)

        assert caught.value.field == field
        assert not Concept.objects.exists()
        assert not Artifact.objects.exists()


class TestEditConcept:
    def test_embeds_it_again(self, knowledge, heron, embedder):
        sync(knowledge)
        embedder.embedded.clear()

        services.edit_entity(Concept, heron.pk, description="A patient bird")
        report = verify_build(knowledge)
        sync(knowledge)

        assert report.findings == {"pending": 1}
        assert embedder.embedded == ["Heron\nA patient bird\nArdea"]
        assert verify_build(knowledge).findings == {}

    def test_makes_it_found_by_its_new_name(self, heron):
        services.edit_entity(Concept, heron.pk, label="Grey heron")

        assert services.find_entity(Concept, INDEX, "grey HERON").pk == heron.pk
        assert services.find_entity(Concept, INDEX, "heron") is None

    def test_refuses_the_name_of_another_concept(self, heron):
        crane = services.create_concept(INDEX, "Crane")

        with pytest.raises(ContentConflict):
            services.edit_entity(Concept, crane.pk, label="heron")

        crane.refresh_from_db()
        assert crane.label == "Crane"


class TestRemoveConcept:
    def test_deletes_only_its_point_evidence_and_edges(self, knowledge, heron):
        document = give(TEXT, index=INDEX)
        crane = services.create_concept(INDEX, "Crane")
        kind = services.create_relationship_type(INDEX, "LIKE")
        add_quote(heron.pk, "the heron", artifact_id=document.pk)
        services.relate_concepts(INDEX, heron.pk, kind.pk, crane.pk)
        sync(knowledge, document)
        sync(knowledge)

        services.remove_entity(Concept, heron.pk)
        sync(knowledge)

        assert not Instance.objects.exists()
        assert not Relationship.objects.exists()
        assert set(Concept.objects.all()) == {crane}
        assert Artifact.objects.get() == document
        assert get_store().count(knowledge.collection("concept")) == 1
        assert verify_build(knowledge).findings == {}

    def test_raises_an_error_for_an_unknown_concept(self, knowledge):
        with pytest.raises(UnknownConcept):
            services.remove_entity(Concept, uuid.uuid4())


class TestMergeConcepts:
    @pytest.fixture
    def graph(self, knowledge, heron):
        names = ("Grey heron", "Ardeidae", "Fish")
        grey, family, fish = (services.create_concept(INDEX, name) for name in names)
        eats = services.create_relationship_type(INDEX, "EATS")
        for source, target in ((heron, fish), (grey, fish), (fish, family), (grey, heron)):
            services.relate_concepts(INDEX, source.pk, eats.pk, target.pk)
        document = give(TEXT, index=INDEX)
        add_quote(heron.pk, "The heron stands", artifact_id=document.pk)
        add_quote(grey.pk, "The heron stands", artifact_id=document.pk)
        add_quote(grey.pk, "in the shallows", artifact_id=document.pk)
        return grey, family, fish

    def test_keeps_all_evidence_and_edges_without_duplicates(self, heron, graph):
        grey, family, fish = graph

        kept = services.merge_concepts(heron.pk, [grey.pk, family.pk])

        quotes = kept.quotes.values_list("quote", flat=True)
        assert sorted(quotes) == ["The heron stands", "in the shallows"]
        assert set(Relationship.objects.values_list("source", "target")) == {
            (heron.pk, fish.pk),
            (fish.pk, heron.pk),
        }
        assert set(kept.search_terms) == {"Ardea", "Ardeidae", "Grey heron"}
        assert set(Concept.objects.all()) == {heron, fish}

    def test_embeds_the_kept_concept_again_and_deletes_the_others(self, knowledge, heron, graph):
        sync(knowledge)
        artifact = Artifact.objects.get()
        sync(knowledge, artifact)
        gone = graph[0]

        services.merge_concepts(heron.pk, [gone.pk])
        plan_unannounced_standalone_nodes(knowledge)
        sync(knowledge)

        stored = get_store().retrieve(knowledge.collection("concept"), [heron.pk, gone.pk])
        assert stored.keys() == {heron.pk}
        assert "Grey heron" in stored[heron.pk].payload["search_terms"]
        assert verify_build(knowledge).findings == {}

    def test_requires_another_concept_of_the_same_index(self, heron):
        with pytest.raises(InvalidInput, match="at least one other concept"):
            services.merge_concepts(heron.pk, [heron.pk])
        with pytest.raises(UnknownConcept):
            services.merge_concepts(heron.pk, [uuid.uuid4()])


class TestRelate:
    def test_creates_an_edge_once(self, heron):
        crane = services.create_concept(INDEX, "Crane")
        kind = services.create_relationship_type(INDEX, "LIKE")

        first, is_new = services.relate_concepts(INDEX, heron.pk, kind.pk, crane.pk)
        second, is_new_again = services.relate_concepts(INDEX, heron.pk, kind.pk, crane.pk)

        assert (is_new, is_new_again) == (True, False)
        assert first == second

    def test_refuses_concepts_and_types_that_are_not_in_the_index(self, heron):
        crane = services.create_concept(INDEX, "Crane")
        kind = services.create_relationship_type(INDEX, "LIKE")
        none = uuid.uuid4()
        cases = {
            "target": (heron.pk, kind.pk, none),
            "source": (none, kind.pk, crane.pk),
            "type": (heron.pk, none, crane.pk),
        }

        for field, ends in cases.items():
            with pytest.raises(InvalidInput) as caught:
                services.relate_concepts(INDEX, *ends)
            assert caught.value.field == field
        with pytest.raises(InvalidInput, match="with itself"):
            services.relate_concepts(INDEX, heron.pk, kind.pk, heron.pk)


class TestRelationshipType:
    def test_creates_one_node_from_name_and_description(self, knowledge):
        kind = services.create_relationship_type(
            INDEX, "SUPPORTS", category="Epistemic", description="Makes more likely"
        )
        sync(knowledge)

        [node] = Node.objects.filter(build=knowledge)
        assert (node.kind, node.text, node.context) == (
            "relationship_type",
            "SUPPORTS\nMakes more likely",
            "supports",
        )
        assert get_store().count(knowledge.collection("relationship_type")) == 1

        services.edit_entity(RelationshipType, kind.pk, category="semantic")
        sync(knowledge)
        stored = get_store().retrieve(knowledge.collection("relationship_type"), [kind.pk])
        assert stored[kind.pk].payload["category"] == "semantic"
        assert verify_build(knowledge).findings == {}
