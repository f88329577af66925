"""Verifying from the admin and in the background."""

from uuid import uuid4

import pytest
from django.urls import reverse

from indexing import tasks, verification
from indexing.exceptions import StoreUnavailable
from indexing.models import IndexBuild, Node, Verification
from indexing.stores.base import Point
from tests.acting import act, record_enqueued
from tests.factories import PARAGRAPHS, give, sync

pytestmark = pytest.mark.django_db

COLLECTION = "plain.page_embeddings.1"


@pytest.fixture
def damaged(build, store) -> Node:
    """A node whose point is gone."""
    sync(build, give())
    node = Node.objects.earliest("pk")
    store.delete(COLLECTION, [node.point_id])
    return node


def shown(client, build: IndexBuild) -> str:
    address = reverse("admin:indexing_indexbuild_change", args=[build.pk])
    return client.get(address).content.decode()


class TestVerify:
    def test_enqueues_every_build_and_does_not_wait(
        self, build, damaged, admin_client, monkeypatch, django_capture_on_commit_callbacks
    ):
        wakes = record_enqueued(monkeypatch, tasks.verify_build)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_index", "verify", build.index)

        assert said == "Verifying 1 build. The report will appear on its page."
        assert wakes == [("verify_build", {"build_id": build.pk, "repair": False})]

    def test_shows_the_findings_and_changes_nothing(
        self, build, damaged, admin_client, store, django_capture_on_commit_callbacks
    ):
        before = shown(admin_client, build)

        with django_capture_on_commit_callbacks(execute=True):
            act(admin_client, "indexing_index", "verify", build.index)

        assert "never" in before
        assert "1 missing" in shown(admin_client, build)
        build.refresh_from_db()
        assert build.report["examples"] == {"missing": [str(damaged.point_id)]}
        assert build.verified_at is not None
        assert store.retrieve(COLLECTION, [damaged.point_id]) == {}

    def test_repairs_on_request(
        self, build, damaged, admin_client, store, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            act(admin_client, "indexing_index", "verify_and_repair", build.index)
        sync(build)

        assert damaged.point_id in store.retrieve(COLLECTION, [damaged.point_id])
        build.refresh_from_db()
        assert build.report["repaired_count"] == 1


class TestVerifyBuild:
    def test_saves_the_error_if_it_fails(self, build, admin_client, monkeypatch):
        def fail(build, after, report, *, repair):
            raise StoreUnavailable("The store is away.")

        monkeypatch.setattr("indexing.verification.builds.verify_next_points", fail)

        tasks.verify_build(build_id=build.pk, repair=False)

        assert "stopped by an error: The store is away." in shown(admin_client, build)

    def test_does_nothing_for_a_deleted_build(self, build):
        tasks.verify_build(build_id=10_000, repair=True)

        assert not IndexBuild.objects.exclude(report=None).exists()


class TestContinueVerification:
    @pytest.fixture
    def slices(self, monkeypatch):
        """Of one artifact, and of one row."""
        monkeypatch.setattr("indexing.verification.documents.ARTIFACTS_PER_SLICE", 1)
        monkeypatch.setattr("indexing.verification.points.ROWS_PER_SLICE", 1)

    @pytest.fixture
    def synced(self, build, slices):
        sync(build, *(give(text) for text in PARAGRAPHS))
        return build

    def test_keeps_earlier_findings_after_a_kill(self, synced, store, monkeypatch):
        ids = sorted(Node.objects.values_list("point_id", flat=True))
        store.delete(COLLECTION, [ids[0], ids[-1]])
        scroll, asked = type(store).scroll, []

        def die_on_third(self, name, **options):
            asked.append(options["after"])
            if len(asked) == 3:
                raise KeyboardInterrupt
            return scroll(self, name, **options)

        monkeypatch.setattr(type(store), "scroll", die_on_third)
        with pytest.raises(KeyboardInterrupt):
            tasks.verify_build(build_id=synced.pk, repair=False)
        synced.refresh_from_db()
        assert synced.report is None
        Verification.objects.release_leases()  # as the next start does

        tasks.reconcile_indexes()

        synced.refresh_from_db()
        assert asked[:4] == [None, ids[0], ids[1], ids[1]]
        assert synced.report["findings"] == {"missing": 2}
        assert synced.report["point_count"] == 2
        assert synced.report["artifact_count"] == 4
        assert not Verification.objects.exists()

    def test_continues_where_the_previous_task_ended(self, synced, settings, monkeypatch):
        settings.STRATA_WORKER_RUN_SECONDS = 0
        enqueued = record_enqueued(monkeypatch, tasks.continue_verification)

        tasks.verify_build(build_id=synced.pk, repair=False)
        assert enqueued == [("continue_verification", {"build_id": synced.pk})]
        for _ in range(20):
            tasks.continue_verification(build_id=synced.pk)

        synced.refresh_from_db()
        assert synced.report["is_sound"]
        assert synced.report["point_count"] == 4
        assert not Verification.objects.exists()

    def test_waits_for_an_unavailable_store(self, synced, store, monkeypatch):
        def fail(self, name, **options):
            raise StoreUnavailable("The store is away.")

        with monkeypatch.context() as patched:
            patched.setattr(type(store), "scroll", fail)
            tasks.verify_build(build_id=synced.pk, repair=False)
        synced.refresh_from_db()
        assert synced.report == {"error": "The store is away."}

        tasks.continue_verification(build_id=synced.pk)

        synced.refresh_from_db()
        assert synced.report["is_sound"]

    def test_is_given_up_after_repeated_deaths_in_one_slice(self, synced, settings):
        verification.request_verification(synced, repair=False)
        Verification.objects.update(attempts=settings.STRATA_MAX_ATTEMPTS)

        tasks.continue_verification(build_id=synced.pk)

        synced.refresh_from_db()
        assert "died" in synced.report["error"]
        assert not Verification.objects.exists()

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

        tasks.verify_build(build_id=build.pk, repair=True)

        assert calls == [50]
        assert verification.verify_build(build).is_sound
