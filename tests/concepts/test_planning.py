"""The nodes of concepts and relationship types, which belong to no artifact."""

from importlib import import_module

import pytest
from django.apps import apps

from concepts import services
from concepts.models import Concept, RelationshipType, hash_name
from core.text import hash_text
from documents.models import Artifact, PendingRevision
from evaluation.promotion_gate import decide_promotion
from indexing import lifecycle, tasks
from indexing.exceptions import BuildUnfinished
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.progress import count_nodes, get_index_progress
from indexing.regeneration import regenerate
from indexing.removal import remove_index
from indexing.services import plan_unannounced_standalone_nodes, sync_nodes
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.concepts.conftest import INDEX
from tests.factories import give, sync


@pytest.fixture
def second(knowledge) -> IndexBuild:
    """A build beside the live one, with other chunk settings."""
    return IndexBuild.objects.create(
        index=knowledge.index,
        number=2,
        recipe={**knowledge.recipe, "chunks": {"strategies": [{"name": "paragraph"}]}},
        fingerprint="other",
    )


class TestWrites:
    def test_plan_the_node_in_every_build_at_once(self, knowledge, second):
        concept = services.create_concept(INDEX, "Heron")

        nodes = Node.objects.filter(point_id=concept.pk, artifact=None, state="pending")
        assert {node.build_id for node in nodes} == {knowledge.pk, second.pk}

    def test_create_no_artifact_and_no_document(self, heron):
        assert not Artifact.objects.exists()
        assert not IndexedDocument.objects.exists()

    def test_plan_nothing_if_the_transaction_is_rolled_back(self, knowledge, heron):
        with pytest.raises(services.ContentConflict):
            services.create_concept(INDEX, "HERON")

        assert Node.objects.get().point_id == heron.pk
        assert PendingRevision.objects.get().changed_id == heron.pk

    def test_count_in_the_progress_of_their_index(self, knowledge, heron):
        before = get_index_progress(INDEX)[0]
        sync(knowledge)
        after = get_index_progress(INDEX)[0]

        assert before["artifacts"] == 0
        assert (before["nodes"]["pending"], before["nodes"]["synced"]) == (1, 0)
        assert before["oldest_pending_seconds"] is not None
        assert (after["nodes"]["pending"], after["nodes"]["synced"]) == (0, 1)
        assert after["oldest_pending_seconds"] is None
        assert count_nodes([knowledge])[knowledge.pk]["synced"] == 1


class TestReconciliation:
    def test_plans_bulk_writes_and_deletions(self, knowledge, heron):
        sync(knowledge)
        Concept.objects.bulk_create(
            [
                Concept(
                    index=INDEX,
                    label="Crane",
                    name_hash=hash_name("Crane"),
                    text_hash=hash_text("Crane"),
                )
            ]
        )
        Concept.objects.filter(pk=heron.pk)._raw_delete("default")
        found = verify_build(knowledge).findings

        tasks.reconcile_indexes()
        while sync_nodes(knowledge):
            pass

        assert found == {"unplanned": 2}
        assert Node.objects.get().text == "Crane"
        assert get_store().count(knowledge.collection("concept")) == 1
        assert verify_build(knowledge).findings == {}

    def test_plans_a_row_whose_hash_is_missing(self, knowledge):
        Concept.objects.bulk_create([Concept(index=INDEX, label="Crane")])

        tasks.reconcile_indexes()
        again = plan_unannounced_standalone_nodes(knowledge)

        assert Concept.objects.get().text_hash == hash_text("Crane")
        assert (Node.objects.get().text, again) == ("Crane", 0)

    def test_plans_types_of_an_earlier_release_as_this_one_embeds_them(self, knowledge, embedder):
        kind = services.create_relationship_type(INDEX, "EATS", category="food")
        sync(knowledge)
        earlier = "EATS\nfood"
        RelationshipType.objects.filter(pk=kind.pk).update(text_hash=hash_text(earlier))
        Node.objects.update(
            text=earlier, context="", text_hash=hash_text(earlier), input_hash="earlier",
            synced_input_hash="earlier",
        )  # fmt: skip
        embedder.embedded.clear()

        import_module("concepts.migrations.0002_embed_names_of_relationship_types").plan_anew(
            apps, None
        )
        tasks.reconcile_indexes()
        sync(knowledge)

        assert (Node.objects.get().text, Node.objects.get().context) == ("EATS", "eats")
        assert embedder.embedded == ["EATS", "eats"]
        assert verify_build(knowledge).findings == {}

    def test_does_nothing_if_everything_is_planned(self, knowledge, heron, embedder):
        sync(knowledge)
        embedder.embedded.clear()

        planned = plan_unannounced_standalone_nodes(knowledge)
        sync(knowledge)

        assert (planned, embedder.embedded) == (0, [])


class TestVerify:
    def test_repairs_a_text_changed_by_raw_sql(self, knowledge, heron):
        sync(knowledge)
        Concept.objects.filter(pk=heron.pk).update(label="Crane")

        found = verify_build(knowledge).findings
        verify_build(knowledge, repair=True)
        sync(knowledge)

        assert found == {"unplanned": 1}
        assert Node.objects.get().text.startswith("Crane")
        assert verify_build(knowledge).findings == {}


class TestPromotion:
    def test_waits_for_the_concepts_of_the_live_build(self, knowledge, second, heron):
        sync(knowledge)
        missing = lifecycle.count_missing(second)
        with pytest.raises(BuildUnfinished, match="lacks 1"):
            lifecycle.promote_build(second)

        sync(second)

        assert missing == 1
        assert lifecycle.count_missing(second) == 0
        assert lifecycle.promote_build(second) == knowledge

    def test_does_not_wait_for_newer_concepts(self, knowledge, second, heron):
        assert lifecycle.count_missing(second) == 0

    def test_is_refused_if_a_concept_failed_only_in_the_new_build(self, knowledge, second, heron):
        sync(knowledge)
        sync(second)
        Node.objects.filter(build=second).update(state=Node.State.FAILED)
        lifecycle.request_promotion(second)

        assert not decide_promotion(second)

        second.refresh_from_db()
        assert "1 documents failed" in second.comparison["verdict"]


class TestRegeneration:
    def test_regenerates_only_concepts_up_to_its_limit(self, knowledge, embedder):
        give("A heron stands in the shallows.", index=INDEX)
        for label in ("Heron", "Crane", "Egret"):
            services.create_concept(INDEX, label)
        sync(knowledge)
        embedder.embedded.clear()

        made = regenerate(["concept"], index=INDEX, limit=2)
        sync(knowledge)

        assert (made.examined_count, made.due_count, made.node_count) == (2, 2, 2)
        assert len(embedder.embedded) == 2

    def test_can_be_restricted_to_missing_nodes(self, knowledge, heron, embedder):
        crane = services.create_concept(INDEX, "Crane")
        sync(knowledge)
        get_store().delete(knowledge.collection("concept"), [crane.pk])
        embedder.embedded.clear()

        regenerate(["concept"], index=INDEX, is_for_missing=True)
        sync(knowledge)

        assert embedder.embedded == ["Crane"]
        assert verify_build(knowledge).findings == {}


class TestRemoveIndex:
    def test_deletes_concepts_and_relationship_types_at_once(self, knowledge, heron):
        services.create_relationship_type(INDEX, "EATS")
        sync(knowledge)

        remove_index(INDEX)

        assert not Concept.objects.exists()
        assert not RelationshipType.objects.exists()
