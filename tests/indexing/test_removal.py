from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from access.models import ApiKey
from core.exceptions import UnknownIndex
from documents.index_catalog import get_catalog
from documents.models import Artifact, PendingRevision
from documents.originals import save_incoming_file
from documents.services import add_artifact
from indexing import lifecycle, removal
from indexing.exceptions import StoreUnavailable
from indexing.models import Index, IndexBuild, Node
from indexing.removal import continue_removals, remove_index
from indexing.services import load_specs
from tests.factories import give, load_index, sync

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def filled(build, store):
    """The plain index with three texts and a file, in a live and in a standby build."""
    artifacts = [give(f"Document {n} is about herons.", title=f"{n}") for n in range(3)]
    file = save_incoming_file("notes.txt", [b"Granite cools slowly."])
    artifacts.append(add_artifact("plain", file)[0])
    sync(build, *artifacts)
    beside = IndexBuild.objects.create(
        index=build.index, number=2, recipe=build.recipe, fingerprint="x", state="building"
    )
    sync(beside, *artifacts)
    lifecycle.promote_build(beside, is_forced=True)
    lifecycle.publish_aliases()
    assert store.count(build.collection("chunk")) == store.count(beside.collection("chunk")) == 4
    return build


@pytest.fixture
def api(filled) -> Client:
    _, secret = ApiKey.issue("test")
    return Client(headers={"Authorization": f"Bearer {secret}"})


class TestRemoveIndex:
    def test_deletes_documents_nodes_points_originals_and_alias(self, filled, store, settings):
        originals = [path for path in settings.STRATA_FILES_DIR.rglob("*") if path.is_file()]

        receipt = remove_index("plain")

        assert receipt.is_complete
        assert receipt.collections == {"plain.page_embeddings.1": 0, "plain.page_embeddings.2": 0}
        assert not any(store.has_collection(name) for name in receipt.collections)
        assert "plain.page_embeddings" not in store.aliases()
        assert len(originals) == 1
        assert not originals[0].exists()
        for model in (Artifact, Node, PendingRevision):
            assert not model.objects.exists()

    def test_leaves_other_indexes_unchanged(self, filled, store):
        other = load_index("library")
        kept = give("Bread rises.", index=other.index_id)

        remove_index("plain")

        assert Artifact.objects.get() == kept
        assert other in IndexBuild.objects.live()

    def test_refuses_documents_and_searches_at_once(self, filled, monkeypatch):
        seen = []

        def look(build):
            seen.append(
                (
                    "plain" in get_catalog().index_names(),
                    IndexBuild.objects.live().filter(index="plain").exists(),
                )
            )

        monkeypatch.setattr(removal, "delete_build_data", look)

        remove_index("plain")

        assert set(seen) == {(False, False)}

    def test_continues_after_a_kill_without_restoring_the_index(self, filled, store, monkeypatch):
        removed = []

        def die_at_the_second(artifact_id):
            if removed:
                raise KeyboardInterrupt
            removed.append(artifact_id)
            Artifact.objects.get(pk=artifact_id).delete()

        with monkeypatch.context() as patched:
            patched.setattr(removal, "remove_artifact", die_at_the_second)
            with pytest.raises(KeyboardInterrupt):
                remove_index("plain")
        left = Artifact.objects.count()
        load_specs()
        is_back = IndexBuild.objects.live().filter(index="plain").exists()

        continue_removals()

        assert (left, is_back) == (3, False)
        assert not Artifact.objects.exists()
        assert not Node.objects.exists()

    def test_leaves_the_rest_to_the_reconciliation_after_its_timeout(self, filled, monkeypatch):
        monkeypatch.setattr(removal, "ARTIFACT_BATCH_SIZE", 1)

        receipt = remove_index("plain", timeout_seconds=0)
        again = remove_index("plain")

        assert (receipt.is_complete, receipt.artifact_count) == (False, 3)
        assert set(receipt.collections.values()) == {0}
        assert again.is_complete

    def test_names_the_indexes_if_there_is_no_such_index(self, filled):
        with pytest.raises(UnknownIndex) as caught:
            remove_index("nil")

        assert "plain" in caught.value.allowed


class TestLoadSpecs:
    def test_restores_a_removed_index_empty_with_a_new_build_number(self, filled):
        remove_index("plain")

        load_specs()

        live = IndexBuild.objects.live().get(index="plain")
        assert live.number == 3
        assert "plain" in get_catalog().index_names()
        assert not Artifact.objects.exists()


class TestContinueRemovals:
    def test_deletes_the_index_row_once_no_late_write_can_arrive(self, filled):
        remove_index("plain")

        continue_removals()
        is_kept_for_now = Index.objects.filter(pk="plain").exists()
        long_ago = timezone.now() - timedelta(seconds=2 * removal.LATE_WRITE_SECONDS)
        IndexBuild.objects.filter(index="plain").update(removed_at=long_ago)
        continue_removals()

        assert is_kept_for_now
        assert not Index.objects.filter(pk="plain").exists()

    def test_removes_documents_added_at_the_last_moment(self, filled):
        remove_index("plain")
        give("A request that began before.", title="Late")

        continue_removals()

        assert not Artifact.objects.exists()


class TestDestroy:
    def test_returns_a_receipt_with_no_point_left(self, api):
        answer = api.delete("/api/v1/indexes/plain/?confirm=plain")

        assert answer.status_code == 200
        body = answer.json()
        assert (body["deleted"], body["points"], body["artifact_count"]) == (True, 0, 0)
        assert body["collections"] == {"plain.page_embeddings.1": 0, "plain.page_embeddings.2": 0}
        assert "specs/plain.yaml still exists" in body["detail"]
        assert api.get("/api/v1/indexes/plain/?confirm=plain").status_code == 404

    @pytest.mark.parametrize("query", ["", "?confirm=", "?confirm=Plain", "?confirm=evidence"])
    def test_requires_the_name_as_confirmation(self, api, query):
        answer = api.delete(f"/api/v1/indexes/plain/{query}")

        assert (answer.status_code, answer.json()["field"]) == (400, "confirm")
        assert IndexBuild.objects.live().filter(index="plain").exists()

    def test_does_not_mention_a_spec_that_was_deleted(self, api, settings, tmp_path):
        settings.STRATA_SPECS_DIR = tmp_path

        assert "detail" not in api.delete("/api/v1/indexes/plain/?confirm=plain").json()

    def test_answers_202_if_the_store_is_unavailable(self, api, monkeypatch):
        def fail(build):
            raise StoreUnavailable

        monkeypatch.setattr(removal, "delete_build_data", fail)

        answer = api.delete("/api/v1/indexes/plain/?confirm=plain")

        assert (answer.status_code, answer.json()["points"]) == (202, None)
        assert api.get("/api/v1/indexes/plain/?confirm=plain").status_code == 404

    def test_requires_a_key_and_an_existing_index(self, api):
        assert Client().delete("/api/v1/indexes/plain/?confirm=plain").status_code == 401
        assert api.delete("/api/v1/indexes/nil/?confirm=nil").status_code == 404
        assert Index.objects.not_being_removed().filter(pk="plain").exists()
