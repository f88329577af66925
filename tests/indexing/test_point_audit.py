"""Points and nodes are compared a few at a time, and all of them where their numbers differ."""

from uuid import UUID

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from documents.services import TextContent, remove_artifact, replace_content
from indexing import tasks
from indexing.models import Node, NodeCountChange, PointAudit
from indexing.point_audit import audit_next_points
from indexing.services import reembed_nodes
from indexing.stores.base import Point
from indexing.verification import verify_build
from tests.factories import PARAGRAPHS, give, sync

pytestmark = pytest.mark.django_db

COLLECTION = "plain.page_embeddings.1"


@pytest.fixture
def synced(build):
    sync(build, *(give(text) for text in PARAGRAPHS))
    return build


def add_orphans(store, count: int) -> None:
    """Add points without a node; in the order of ids they come first."""
    [stored] = store.retrieve(
        COLLECTION, [Node.objects.earliest("pk").point_id], with_vectors=True
    ).values()
    store.upsert(
        COLLECTION,
        [
            Point(UUID(int=number), stored.dense, stored.sparse, stored.payload)
            for number in range(count)
        ],
    )


def counted() -> dict[str, int]:
    return NodeCountChange.objects.aggregate(
        synced=Sum("synced_count", default=0), nodes=Sum("node_count", default=0)
    )


class TestOrphans:
    def test_are_removed_if_there_are_more_points_than_nodes(self, synced, store, settings):
        settings.STRATA_AUDIT_POINTS = 1
        add_orphans(store, 30)

        tasks.reconcile_store()

        assert store.count(COLLECTION) == 4
        assert verify_build(synced).is_sound

    def test_are_removed_in_slices(self, synced, store, monkeypatch):
        monkeypatch.setattr("indexing.point_audit.ROWS_PER_SLICE", 2)
        add_orphans(store, 30)
        before = store.count(COLLECTION)

        audited = audit_next_points(synced)

        assert not audited.is_last
        assert before - 3 <= store.count(COLLECTION) < before
        cursor = PointAudit.objects.get().cursor
        assert cursor is not None
        while not audit_next_points(synced).is_last:
            following = PointAudit.objects.get().cursor
            assert following is None or following > cursor
            cursor = following
        assert verify_build(synced).is_sound

    def test_are_removed_even_if_the_numbers_are_equal(self, synced, store):
        add_orphans(store, 1)
        store.delete(COLLECTION, [Node.objects.earliest("pk").point_id])

        tasks.reconcile_store()

        assert verify_build(synced).is_sound


class TestAnAudit:
    def test_of_a_sound_build_reads_few_points_and_makes_no_exact_count(
        self, synced, store, settings, monkeypatch
    ):
        settings.STRATA_AUDIT_POINTS = 2
        monkeypatch.setattr(type(store), "count", None)
        scroll, asked = type(store).scroll, []

        def watch(self, name, **options):
            asked.append(options)
            return scroll(self, name, **options)

        monkeypatch.setattr(type(store), "scroll", watch)

        with CaptureQueriesContext(connection) as queries:
            tasks.audit_points(build_id=synced.pk)

        assert [options["batch"] for options in asked] == [3]
        counts = [
            each["sql"]
            for each in queries
            if "COUNT(" in each["sql"] and '"artifact_id" IS NULL' not in each["sql"]
        ]
        assert counts == []

    def test_does_nothing_while_another_worker_audits_the_build(self, synced, store, monkeypatch):
        PointAudit.objects.create(build=synced)
        assert PointAudit.objects.all().claim() is not None
        add_orphans(store, 1)

        assert audit_next_points(synced) == (0, True)

        assert store.count(COLLECTION) == 5

    def test_resolves_unconfirmed_writes_first(self, synced, monkeypatch):
        called = []
        monkeypatch.setattr(
            "indexing.point_audit.resolve_unconfirmed_writes",
            lambda build: called.append("unconfirmed") or 0,
        )
        monkeypatch.setattr(
            "indexing.point_audit._measure_difference",
            lambda build: called.append("counts") or 0,
        )

        audit_next_points(synced)

        assert called == ["unconfirmed", "counts"]

    def test_compares_all_points_once_if_only_the_count_is_wrong(self, synced, store, monkeypatch):
        NodeCountChange.objects.create(build=synced, synced_count=7, node_count=7)
        scroll, asked = type(store).scroll, []

        def watch(self, name, **options):
            asked.append(options["batch"])
            return scroll(self, name, **options)

        monkeypatch.setattr(type(store), "scroll", watch)
        monkeypatch.setattr("indexing.point_audit.ROWS_PER_SLICE", 3)

        for _ in range(3):
            tasks.audit_points(build_id=synced.pk)

        assert asked == [4, 3, 500, 500]
        assert counted() == {"synced": 4, "nodes": 4}
        assert not synced.lost_at


class TestCounts:
    def test_are_updated_with_every_change_of_nodes(self, synced):
        def is_right() -> bool:
            is_synced = Node.objects.filter(state=Node.State.SYNCED)
            return counted() == {"synced": is_synced.count(), "nodes": Node.objects.count()}

        assert counted() == {"synced": 4, "nodes": 4}
        first, second, *_ = Node.objects.order_by("pk")
        reembed_nodes(Node.objects.filter(pk=first.pk))
        assert is_right()
        sync(synced)
        assert is_right()
        replace_content(second.artifact_id, TextContent(("The owl hunts at night.",)))
        assert is_right()
        sync(synced)
        assert is_right()
        remove_artifact(second.artifact_id)
        tasks.reconcile_indexes()
        sync(synced)
        assert is_right()
        assert not Node.objects.filter(artifact=second.artifact_id).exists()

    def test_are_merged_into_one_row(self, synced):
        assert NodeCountChange.objects.count() > 1

        audit_next_points(synced)

        [change] = NodeCountChange.objects.all()
        assert (change.synced_count, change.node_count) == (4, 4)
