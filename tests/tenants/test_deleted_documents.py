import pytest

from access.grants import EVERYTHING, Grant
from concepts.models import Concept, Relationship, RelationshipType
from concepts.quotes import add_quote
from concepts.services import (
    create_concept,
    create_relationship_type,
    merge_concepts,
    relate_concepts,
)
from documents.services import remove_artifact
from tests.factories import give, load_index
from tests.granting import client_of, grant_by_header

STAFF = Grant(groups=frozenset({"staff"}))
NOBODY = Grant(groups=frozenset())


def visible(grant):
    return sorted(Concept.objects.visible_to(grant).values_list("label", flat=True))


@pytest.fixture
def concepts(db, store, embedder):
    """A concept that a document with groups quotes, one of a public document, one without."""
    load_index("knowledge")
    secret = give("The heron stands.", index="knowledge", groups=["staff"])
    public = give("The heron waits.", index="knowledge")
    made = {label: create_concept("knowledge", label) for label in ("secret", "public", "bare")}
    add_quote(made["secret"].pk, "heron stands", artifact_id=secret.pk)
    add_quote(made["public"].pk, "heron waits", artifact_id=public.pk)
    return made | {"document": secret}


class TestConcepts:
    def test_are_visible_if_every_quoted_document_is(self, concepts):
        assert visible(NOBODY) == ["bare", "public"]
        assert visible(STAFF) == visible(EVERYTHING) == ["bare", "public", "secret"]

    def test_stay_hidden_once_the_document_is_deleted(self, concepts):
        remove_artifact(concepts["document"].pk)

        assert visible(NOBODY) == ["bare", "public"]
        assert visible(EVERYTHING) == ["bare", "public", "secret"]

    def test_stay_hidden_in_the_concept_they_are_merged_into(self, concepts):
        remove_artifact(concepts["document"].pk)
        merge_concepts(concepts["bare"].pk, [concepts["secret"].pk])

        assert visible(NOBODY) == ["public"]

    def test_hide_relationship_types_that_only_they_use(self, concepts):
        kind, unused = (create_relationship_type("knowledge", name) for name in ("HIDES", "NEW"))
        relate_concepts("knowledge", concepts["secret"].pk, kind.pk, concepts["public"].pk)

        assert set(RelationshipType.objects.visible_to(NOBODY)) == {unused}
        assert set(RelationshipType.objects.visible_to(STAFF)) == {kind, unused}


class TestEntitiesWithHiddenRelationships:
    @pytest.fixture
    def kind(self, concepts):
        kind = create_relationship_type("knowledge", "EATS")
        relate_concepts("knowledge", concepts["secret"].pk, kind.pk, concepts["public"].pk)
        relate_concepts("knowledge", concepts["public"].pk, kind.pk, concepts["bare"].pk)
        return kind

    def test_cannot_be_deleted_by_those_who_do_not_see_them(self, concepts, kind, monkeypatch):
        grant_by_header(monkeypatch, {"nobody": NOBODY, "staff": STAFF})
        paths = [f"relationship-types/{kind.pk}/", f"concepts/{concepts['public'].pk}/"]

        refused = [client_of("nobody").delete(f"/api/v1/{path}") for path in paths]

        assert Relationship.objects.count() == 2
        for answer in refused:
            assert (answer.status_code, answer.json()["code"]) == (409, "hidden_relationships")
        for path in paths:
            assert client_of("staff").delete(f"/api/v1/{path}").status_code == 200
        assert not Relationship.objects.exists()

    def test_can_be_deleted_without_them(self, concepts, kind, monkeypatch):
        grant_by_header(monkeypatch, {"nobody": NOBODY})

        answer = client_of("nobody").delete(f"/api/v1/concepts/{concepts['bare'].pk}/")

        assert answer.status_code == 200
