from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documents.models import Artifact
from documents.services import update_artifact
from indexing.models import Node
from indexing.stores import close_store
from indexing.stores.base import Point
from indexing.verification import FINDINGS, verify_build
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

COLLECTION = "plain.page_embeddings.1"


@pytest.fixture
def artifact(build) -> Artifact:
    """A synced document of several chunks."""
    artifact = give("\n\n".join(f"Sentence {n} of the field notes. " * 12 for n in range(4)))
    sync(build, artifact)
    assert Node.objects.count() > 3
    assert verify_build(build).is_sound
    return artifact


@pytest.fixture
def node(artifact) -> Node:
    return Node.objects.order_by("start_offset")[1]


def damage_missing(store, build, node):
    store.delete(COLLECTION, [node.point_id])


def damage_orphan(store, build, node):
    [stored] = store.retrieve(COLLECTION, [node.point_id], with_vectors=True).values()
    store.upsert(COLLECTION, [Point(uuid4(), stored.dense, stored.sparse, stored.payload)])


def damage_outdated(store, build, node):
    [stored] = store.retrieve(COLLECTION, [node.point_id]).values()
    store.replace_payloads(COLLECTION, {node.point_id: {**stored.payload, "text": "Other."}})


def damage_mislabelled(store, build, node):
    [stored] = store.retrieve(COLLECTION, [node.point_id]).values()
    renamed = {**stored.payload, "artifact_title": "Someone else's"}
    store.replace_payloads(COLLECTION, {node.point_id: renamed})


def damage_foreign(store, build, node):
    Node.objects.filter(pk=node.pk).update(embedding_model="another/model")


def damage_unplanned(store, build, node):
    """Delete a row without a signal, and its point."""
    store.delete(COLLECTION, [node.point_id])
    Node.objects.filter(pk=node.pk).delete()


def damage_duplicate(store, build, node):
    [stored] = store.retrieve(COLLECTION, [node.point_id], with_vectors=True).values()
    node.pk, node.point_id, node.chunk_index = None, UUID(int=1), 99
    node.save(force_insert=True)
    store.upsert(COLLECTION, [Point(node.point_id, stored.dense, stored.sparse, stored.payload)])


DAMAGES = {
    "missing": damage_missing,
    "orphan": damage_orphan,
    "outdated": damage_outdated,
    "mislabelled": damage_mislabelled,
    "foreign": damage_foreign,
    "unplanned": damage_unplanned,
    "duplicate": damage_duplicate,
}
# Findings that also report the artifact as unplanned.
AND_UNPLANNED = {"duplicate"}


def expected_findings(sort: str) -> dict[str, int]:
    return {sort: 1} | ({"unplanned": 1} if sort in AND_UNPLANNED else {})


@pytest.mark.parametrize("sort", DAMAGES)
class TestVerifyBuild:
    def test_reports_the_damage_and_changes_nothing(self, build, store, node, sort):
        DAMAGES[sort](store, build, node)
        rows = list(Node.objects.order_by("pk").values())
        points = list(store.scroll(COLLECTION))

        with CaptureQueriesContext(
            connection,
        ) as queries:
            report = verify_build(build)

        assert report.findings == expected_findings(sort)
        assert report.as_json()["remedies"][sort] == FINDINGS[sort][2]
        assert not [q for q in queries if q["sql"].startswith(("UPDATE", "INSERT", "DELETE"))]
        assert list(Node.objects.order_by("pk").values()) == rows
        assert list(store.scroll(COLLECTION)) == points

    def test_repairs_the_damage(self, build, store, node, sort):
        DAMAGES[sort](store, build, node)

        report = verify_build(build, repair=True)
        sync(build)

        assert report.repaired_count == 1
        after = verify_build(build)
        assert after.findings == {}
        assert (
            after.point_count
            == after.node_count
            == report.artifact_count * 0
            + len([point for batch in store.scroll(COLLECTION) for point in batch])
        )

    def test_reports_and_repairs_the_damage_of_a_closed_collection(
        self, build, store, node, sort, settings
    ):
        if settings.STRATA_VECTOR_STORE != "embedded":
            pytest.skip("Only the embedded store opens collections.")
        DAMAGES[sort](store, build, node)
        close_store()

        report = verify_build(build)

        assert report.findings == expected_findings(sort)
        verify_build(build, repair=True)
        sync(build)
        close_store()
        assert verify_build(build).is_sound


class TestAPoint:
    def test_written_between_the_two_reads_is_no_finding(self, build, store, artifact, monkeypatch):
        scroll, edits = type(store).scroll, iter([{"title": "Renamed"}])

        def edit_meanwhile(self, name, **given):
            for edit in edits:
                update_artifact(artifact.pk, **edit)
                sync(build, artifact)
            return scroll(self, name, **given)

        monkeypatch.setattr(type(store), "scroll", edit_meanwhile)

        report = verify_build(build, repair=True)

        assert (report.findings, report.repaired_count) == ({}, 0)
        assert next(edits, None) is None
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()


class TestRepair:
    def test_embeds_again_points_that_may_have_the_vectors_of_another_text(
        self, build, store, node, embedder
    ):
        damage_outdated(store, build, node)
        embedder.embedded.clear()

        verify_build(build, repair=True)
        sync(build)

        assert len(embedder.embedded) == 1

    def test_deletes_orphans_in_batches(self, build, store, monkeypatch):
        sync(build, give())
        [stored] = store.retrieve(
            COLLECTION, [Node.objects.earliest("pk").point_id], with_vectors=True
        ).values()
        store.upsert(
            COLLECTION,
            [Point(uuid4(), stored.dense, stored.sparse, stored.payload) for _ in range(50)],
        )
        delete, calls = type(store).delete, []

        def count(self, name, ids):
            calls.append(len(ids))
            return delete(self, name, ids)

        monkeypatch.setattr(type(store), "delete", count)

        verify_build(build, repair=True)

        assert calls == [50]
        assert verify_build(build).is_sound

    def test_keeps_the_vectors_if_only_the_payload_is_wrong(self, build, store, node, embedder):
        damage_mislabelled(store, build, node)
        embedder.embedded.clear()

        verify_build(build, repair=True)
        sync(build)

        assert embedder.embedded == []
        [stored] = store.retrieve(COLLECTION, [node.point_id]).values()
        assert stored.payload["artifact_title"] == "Field notes"

    def test_removes_a_duplicated_point(self, build, store, node, monkeypatch):
        scroll = type(store).scroll

        def scroll_doubled(self, name, **given):
            for batch in scroll(self, name, **given):
                yield [p for point in batch for p in [point] * (1 + (point.id == node.point_id))]

        with monkeypatch.context() as patched:
            patched.setattr(type(store), "scroll", scroll_doubled)
            looked_at = verify_build(build)
            was_there = bool(store.retrieve(COLLECTION, [node.point_id]))
            repaired = verify_build(build, repair=True)
        is_gone = not store.retrieve(COLLECTION, [node.point_id])
        sync(build)

        assert looked_at.findings == repaired.findings == {"doubled": 1}
        assert (was_there, is_gone) == (True, True)
        assert verify_build(build).is_sound

    def test_restores_a_chunk_whose_row_is_gone(self, build, store, node):
        point_id = node.point_id
        node.delete()

        report = verify_build(build, repair=True)
        sync(build)

        assert report.findings == {"unplanned": 1, "pending": 1}
        assert Node.objects.filter(point_id=point_id, state="synced").exists()
        assert verify_build(build).is_sound
