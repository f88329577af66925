"""Verifying from the admin and in the background."""

import pytest
from django.urls import reverse

from indexing import tasks
from indexing.exceptions import StoreUnavailable
from indexing.models import IndexBuild, Node
from tests.acting import act, record_enqueued
from tests.factories import give, sync

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
    def test_queues_every_build_and_does_not_wait(
        self, build, damaged, admin_client, monkeypatch, django_capture_on_commit_callbacks
    ):
        wakes = record_enqueued(monkeypatch, tasks.verify_build)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_index", "verify", build.index)

        assert said == "Verifying 1 build. The report will appear on its page."
        assert wakes == [("verify_build", {"build_id": build.pk, "repair": False})]

    def test_shows_what_was_found_and_changes_nothing(
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

    def test_repairs_where_that_is_asked(
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
        def fail(build, *, repair):
            raise StoreUnavailable("The store is away.")

        monkeypatch.setattr("indexing.verification.verify_build", fail)

        tasks.verify_build(build_id=build.pk, repair=False)

        assert "stopped by an error: The store is away." in shown(admin_client, build)

    def test_does_nothing_for_a_build_that_is_gone(self, build):
        tasks.verify_build(build_id=10_000, repair=True)

        assert not IndexBuild.objects.exclude(report=None).exists()
