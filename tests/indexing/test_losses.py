"""Points that the vector store has lost: noticed, told, and written again."""

import logging

import pytest
from django.core.management import call_command

from documents.services import remove_artifact
from indexing import tasks
from indexing.models import IndexBuild, Node
from indexing.point_audit import audit_next_points
from indexing.services import plan_nodes
from indexing.stores import get_store
from indexing.stores.base import Point
from indexing.verification import verify_build
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, give, sync

COLLECTION = "plain.page_embeddings.1"
SEARCH = "/api/v1/search/pages?index=plain&q=heron"


def drop_collection(build: IndexBuild) -> None:
    get_store().drop_collection(COLLECTION)


def delete_a_point(build: IndexBuild) -> None:
    node = Node.objects.filter(state=Node.State.SYNCED).order_by("point_id")[2]
    get_store().delete(COLLECTION, [node.point_id])


def restore_an_old_snapshot(build: IndexBuild) -> None:
    """It lacks the newest point, and still holds one that was deleted since: as many in all."""
    first, newest = Node.objects.earliest("pk"), Node.objects.latest("pk")
    [stored] = get_store().retrieve(COLLECTION, [first.point_id], with_vectors=True).values()
    remove_artifact(first.artifact.pk)
    sync(build)
    get_store().upsert(
        COLLECTION, [Point(first.point_id, stored.dense, stored.sparse, stored.payload)]
    )
    get_store().delete(COLLECTION, [newest.point_id])


LOSSES = {
    "a dropped collection": drop_collection,
    "a deleted point": delete_a_point,
    "an old snapshot": restore_an_old_snapshot,
}


@pytest.fixture(params=["embedded", "qdrant"], autouse=True)
def on_each_store(request, settings):
    settings.STRATA_VECTOR_STORE = request.param
    if request.param == "qdrant":
        settings.QDRANT_API_KEY, settings.QDRANT_TIMEOUT_SECONDS = "", 10


@pytest.fixture
def synced(build):
    sync(build, *(give(text) for text in PARAGRAPHS))
    return build


def audit_to_the_end(build: IndexBuild) -> None:
    while not audit_next_points(build).is_last:
        pass


@pytest.fixture
def no_worker(monkeypatch):
    """What a loss makes due stays pending."""
    monkeypatch.setattr(tasks.sync_nodes, "delay", lambda **ids: None)


@pytest.mark.parametrize("lose", LOSSES.values(), ids=list(LOSSES))
class TestALoss:
    def test_is_noticed_and_repaired_by_the_reconciliation(self, synced, lose, caplog):
        lose(synced)

        tasks.reconcile_store()  # and the syncing that it enqueues: in tests it runs at once

        assert "has lost points of plain #1" in caplog.text
        assert "plain #1 has all its points again" in caplog.text
        assert IndexBuild.objects.get(pk=synced.pk).lost_at is None
        assert client_with_key().get(SEARCH).json()["hits"]
        tasks.reconcile_indexes()
        assert verify_build(synced).is_sound

    def test_is_reported_until_all_points_are_restored(
        self, synced, lose, no_worker, client, capsys
    ):
        lose(synced)
        tasks.reconcile_store()

        refused = client_with_key().get(SEARCH)
        listed = client_with_key().get("/api/v1/indexes/plain/").json()
        ready = client_with_key().get("/health/ready?index=plain")
        with pytest.raises(SystemExit):
            call_command("doctor", port=0)

        assert (refused.status_code, refused.json()["code"]) == (503, "points_lost")
        assert "lost points of the index plain" in refused.json()["detail"]
        assert refused["Retry-After"] == "60"
        assert "lost points" in listed["problem"]
        assert (ready.status_code, "lost points" in ready.json()["checks"]["index"]) == (503, True)
        assert client.get("/health/ready").status_code == 200
        assert "lost points" in capsys.readouterr().out

        sync(synced)
        tasks.reconcile_store()

        assert client_with_key().get(SEARCH).status_code == 200
        assert client_with_key().get("/health/ready?index=plain").status_code == 200

    def test_is_only_reported_if_the_setting_says_so(self, synced, lose, settings, caplog):
        settings.STRATA_RESTORE_LOST_POINTS = False
        lose(synced)

        with caplog.at_level(logging.ERROR):
            tasks.reconcile_store()
            tasks.reconcile_store()

        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()
        assert client_with_key().get(SEARCH).json()["fix"] == "Run strata verify --repair."
        assert caplog.text.count("strata verify --repair") == 1

        verify_build(synced, repair=True)
        tasks.reconcile_store()
        assert client_with_key().get(SEARCH).status_code == 503
        sync(synced)
        tasks.reconcile_store()

        assert client_with_key().get(SEARCH).status_code == 200


class TestASearch:
    def test_that_finds_nothing_detects_a_lost_collection(self, synced):
        drop_collection(synced)

        answer = client_with_key().get(SEARCH)

        assert (answer.status_code, answer.json()["code"]) == (503, "points_lost")
        assert IndexBuild.objects.get(pk=synced.pk).lost_at is not None

    def test_of_an_index_without_documents_finds_nothing(self, build):
        assert client_with_key().get(SEARCH).json()["hits"] == []

    def test_whose_filter_matches_nothing_finds_nothing(self, synced):
        answer = client_with_key().post(
            "/api/v1/search/pages",
            {"index": "plain", "query": "heron", "filter": {"external_id": "none"}},
            format="json",
        )

        assert answer.json()["hits"] == []


class TestAuditNextPoints:
    def test_examines_all_points_a_few_at_a_time(self, synced, settings, no_worker):
        settings.STRATA_AUDIT_POINTS = 2
        restore_an_old_snapshot(synced)

        for _ in range(3):
            audit_next_points(synced)

        assert Node.objects.filter(state=Node.State.PENDING).count() == 1
        tasks.reconcile_indexes()
        sync(synced)
        assert verify_build(synced).is_sound  # the other point had no row

    def test_lets_new_work_go_first(self, synced, no_worker, settings):
        settings.STRATA_SYNC_BATCH = 1
        drop_collection(synced)
        audit_next_points(synced)
        assert Node.objects.filter(state=Node.State.PENDING).count() == 4
        added = give("Reeds grow by the weir.")
        plan_nodes(added.pk, synced)

        tasks.services.sync_nodes(synced)

        assert Node.objects.get(artifact=added).state == Node.State.SYNCED
        assert Node.objects.filter(state=Node.State.PENDING).count() == 4

    def test_continues_where_it_was_interrupted(self, synced, monkeypatch, no_worker):
        monkeypatch.setattr("indexing.point_audit.ROWS_PER_SLICE", 1)
        retrieve = type(get_store()).retrieve
        asked = []

        def fail_on_third(store, name, ids, **options):
            asked.append(ids)
            if len(asked) == 3:
                raise KeyboardInterrupt
            return retrieve(store, name, ids, **options)

        monkeypatch.setattr(type(get_store()), "retrieve", fail_on_third)
        drop_collection(synced)
        with pytest.raises(KeyboardInterrupt):
            audit_to_the_end(synced)

        assert Node.objects.filter(state=Node.State.PENDING).count() == 2
        audit_to_the_end(IndexBuild.objects.get(pk=synced.pk))
        assert Node.objects.filter(state=Node.State.PENDING).count() == 4
        assert len(asked) == 5  # the third is asked for once more, and no other
        sync(synced)
        audit_to_the_end(IndexBuild.objects.get(pk=synced.pk))
        assert verify_build(synced).is_sound
        assert IndexBuild.objects.get(pk=synced.pk).lost_at is None

    def test_logs_how_much_is_embedded_again(self, synced, no_worker, caplog):
        drop_collection(synced)

        with caplog.at_level(logging.WARNING):
            audit_to_the_end(synced)

        assert "4 points of plain #1 are embedded and written again" in caplog.text
        assert " tokens" in caplog.text

    def test_ignores_a_node_whose_point_is_removed_meanwhile(self, synced, monkeypatch, caplog):
        scroll = type(get_store()).scroll

        def delete_first(store, name, **options):
            node = Node.objects.earliest("point_id")
            Node.objects.filter(pk=node.pk).update(state=Node.State.DELETING)
            store.delete(name, [node.point_id])
            return scroll(store, name, **options)

        monkeypatch.setattr(type(get_store()), "scroll", delete_first)

        audit_to_the_end(synced)

        assert "lost points" not in caplog.text
        assert IndexBuild.objects.get(pk=synced.pk).lost_at is None
