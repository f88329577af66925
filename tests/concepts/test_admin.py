import pytest
from django.urls import reverse

from concepts.models import Concept, Relationship, RelationshipType
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from tests.acting import act, offered
from tests.concepts.conftest import INDEX
from tests.factories import give


def add(client, model, **values):
    return client.post(reverse(f"admin:concepts_{model}_add"), values)


class TestConceptAdmin:
    def test_creates_edits_and_deletes_a_concept(self, admin_client, knowledge):
        values = {"label": "Heron", "description": "A bird", "search_terms": "Ardea\n\nReiher\n"}
        made = add(admin_client, "concept", index=INDEX, **values)
        concept = Concept.objects.get()
        url = reverse("admin:concepts_concept_change", args=[concept.pk])
        shown = admin_client.get(url)
        admin_client.post(url, {**values, "label": "Grey heron"})
        label = Concept.objects.get().label
        admin_client.post(reverse("admin:concepts_concept_delete", args=[concept.pk]), {"post": 1})

        assert made.status_code == 302
        assert concept.search_terms == ["Ardea", "Reiher"]
        assert b"Ardea\nReiher" in shown.content
        assert label == "Grey heron"
        assert not Concept.objects.exists()

    def test_shows_an_error_at_the_wrong_field(self, admin_client, heron):
        taken = add(admin_client, "concept", index=INDEX, label="HERON")
        elsewhere = add(admin_client, "concept", index="plain", label="Crane")
        many = add(
            admin_client, "concept", index=INDEX, label="x",
            search_terms="\n".join(map(str, range(51))),
        )  # fmt: skip

        assert b"knowledge already has a concept named" in taken.content
        assert b"Select a valid choice" in elsewhere.content
        assert b"search_terms must hold at most 50 terms" in many.content
        assert Concept.objects.get() == heron

    def test_filters_concepts_by_evidence(self, admin_client, heron, relocations):
        create_concept(INDEX, "Crane")
        document = give("The heron stands.", index=INDEX)
        add_quote(heron.pk, "heron", artifact_id=document.pk)
        url = reverse("admin:concepts_concept_changelist")

        def labels(**query):
            rows = admin_client.get(url, query).context["cl"].result_list
            return [row.label for row in rows]

        assert labels(evidence="none") == ["Crane"]
        assert labels(evidence="some") == ["Heron"]
        assert labels(index=INDEX) == ["Crane", "Heron"]
        assert labels(q=str(heron.pk)) == ["Heron"]

    def test_merges_the_selected_concepts(self, admin_client, heron):
        crane = create_concept(INDEX, "Crane")

        said = act(admin_client, "concepts_concept", "merge_concepts", heron, crane)
        alone = act(admin_client, "concepts_concept", "merge_concepts", crane)

        assert said == "Merged 2 concepts into Crane."
        assert alone == "concepts must name at least one other concept to merge into this one."
        assert Concept.objects.get() == crane


class TestInstanceAdmin:
    def test_keeps_concepts_hidden_whose_quotes_are_deleted(self, admin_client, heron, relocations):
        for text in ("The heron stands.", "A heron waits."):
            document = give(text, index=INDEX, groups=["board"])
            add_quote(heron.pk, "heron", artifact_id=document.pk)
        alone, selected = heron.quotes.all()

        url = reverse("admin:concepts_instance_delete", args=[alone.pk])
        admin_client.post(url, {"post": 1})
        hidden_by_one = Concept.objects.get().is_restricted
        Concept.objects.update(is_restricted=False)
        chosen = {"action": "delete_selected", "_selected_action": selected.pk, "post": "yes"}
        admin_client.post(reverse("admin:concepts_instance_changelist"), chosen)

        assert hidden_by_one
        assert Concept.objects.get().is_restricted
        assert not heron.quotes.exists()


class TestRelationshipAdmin:
    def test_relates_two_concepts_of_one_index(self, admin_client, heron):
        add(admin_client, "relationshiptype", index=INDEX, name="EATS", category="structural")
        kind, fish = RelationshipType.objects.get(), create_concept(INDEX, "Fish")
        ends = {"source": heron.pk, "type": kind.pk, "target": fish.pk}

        made = add(admin_client, "relationship", **ends)
        twice = add(admin_client, "relationship", **ends)
        looped = add(admin_client, "relationship", **{**ends, "target": heron.pk})

        assert made.status_code == 302
        assert (twice.status_code, looped.status_code) == (200, 200)
        assert str(Relationship.objects.get()) == "Heron EATS Fish"

    @pytest.mark.parametrize("model", ["relationship", "relationshiptype", "instance"])
    def test_lists_relationships_types_and_instances(self, admin_client, heron, relocations, model):
        kind, fish = create_relationship_type(INDEX, "EATS"), create_concept(INDEX, "Fish")
        relate_concepts(INDEX, heron.pk, kind.pk, fish.pk)
        document = give("The heron stands.", index=INDEX)
        add_quote(heron.pk, "heron", artifact_id=document.pk)

        url = reverse(f"admin:concepts_{model}_changelist")
        listed = admin_client.get(url, {"q": ""}).context["cl"].result_count

        assert listed == 1
        assert "delete_selected" in offered(admin_client, f"concepts_{model}")


class TestArtifactAdmin:
    def test_lists_no_concepts(self, admin_client, heron):
        listed = admin_client.get(reverse("admin:documents_artifact_changelist"))

        assert listed.context["cl"].result_count == 0
