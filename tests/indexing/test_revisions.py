import threading

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documents.exceptions import Unparsable
from documents.models import Artifact, PendingRevision
from documents.reading import mark_artifact_failed
from documents.services import remove_artifact, retry_parsing, update_artifact
from indexing import revisions
from indexing.catalog import LedgerIndexCatalog
from indexing.exceptions import NotYetIndexed
from indexing.removal import remove_artifact_points
from tests.factories import give, sync
from webhooks.models import Delivery


def shows(build, revision: int) -> bool:
    return revisions.is_revision_visible(build.index_id, build.pk, ["chunk"], revision)


def wait(build, revision: int) -> None:
    revisions.wait_for_revision(build.index_id, build.pk, ["chunk"], revision)


class TestIsRevisionVisible:
    def test_is_true_once_the_write_is_synced(self, build):
        artifact = give()

        before = shows(build, artifact.revision)
        sync(build, artifact)

        assert (before, shows(build, artifact.revision)) == (False, True)

    def test_ignores_later_writes(self, build):
        first = give("One heron.", title="First")
        sync(build, first)

        give("Two herons.", title="Second")

        assert shows(build, first.revision)

    def test_waits_for_a_write_that_a_later_one_replaced(self, build):
        first = give("One heron.", title="Birds", external_id="b1")
        again = give("Two herons.", title="Birds", external_id="b1")
        assert again.revision > first.revision

        assert not shows(build, first.revision)

    def test_waits_for_new_metadata(self, build):
        artifact = give()
        sync(build, artifact)
        revisions.complete_visible_revisions()

        relabelled = update_artifact(artifact.pk, metadata={"year": 2019})

        assert not shows(build, relabelled.revision)
        sync(build, artifact)
        assert shows(build, relabelled.revision)

    def test_waits_for_a_deletion(self, build):
        artifact = give()
        sync(build, artifact)

        revision = remove_artifact(artifact.pk)

        assert not shows(build, revision)
        remove_artifact_points([artifact.pk], "plain")
        assert shows(build, revision)

    def test_is_true_for_a_failed_document(self, build):
        artifact = give()
        mark_artifact_failed(artifact, Unparsable("broken", "It is broken."))
        sync(build, artifact)

        assert shows(build, artifact.revision)


class TestWaitForRevision:
    def test_raises_an_error_after_the_timeout(self, build, settings):
        settings.STRATA_MIN_REVISION_SECONDS = 0.1
        artifact = give()

        with pytest.raises(NotYetIndexed, match=f"revision {artifact.revision}"):
            wait(build, artifact.revision)

    def test_returns_at_once_if_nothing_is_pending(self, build, settings):
        settings.STRATA_MIN_REVISION_SECONDS = 0
        artifact = give()
        sync(build, artifact)

        wait(build, artifact.revision)

    def test_limits_the_number_of_waiting_requests(self, build, settings, monkeypatch):
        settings.STRATA_MIN_REVISION_SECONDS = 60
        monkeypatch.setattr(revisions, "_waiting_slots", threading.BoundedSemaphore(1))
        revisions._waiting_slots.acquire()
        artifact = give()

        with pytest.raises(NotYetIndexed):
            wait(build, artifact.revision)


class TestCompleteVisibleRevisions:
    def test_deletes_visible_revisions(self, build):
        artifact = give()
        sync(build, artifact)

        revisions.complete_visible_revisions()

        assert not PendingRevision.objects.exists()

    def test_asks_no_more_queries_while_more_revisions_wait(
        self, build, monkeypatch, django_assert_num_queries
    ):
        monkeypatch.setattr(revisions, "REVISION_BATCH_SIZE", 2)
        for number in range(5):
            give(title=f"Waiting {number}")

        with django_assert_num_queries(1):
            assert revisions.complete_visible_revisions() == 0

    def test_keeps_revisions_that_are_not_visible(self, build):
        artifact = give()

        revisions.complete_visible_revisions()

        assert PendingRevision.objects.get().pk == artifact.revision

    def test_completes_a_deletion_once_its_points_are_gone(self, build):
        artifact = give()
        sync(build, artifact)
        revisions.complete_visible_revisions()
        remove_artifact(artifact.pk)
        revisions.complete_visible_revisions()
        is_kept = PendingRevision.objects.exists()

        remove_artifact_points([artifact.pk], "plain")
        revisions.complete_visible_revisions()

        assert (is_kept, PendingRevision.objects.exists()) == (True, False)

    def test_emits_one_event_per_write(self, build, settings):
        settings.STRATA_WEBHOOK_URLS = ["http://127.0.0.1:9/"]
        artifact = give(external_id="b1")
        sync(build, artifact)

        revisions.complete_visible_revisions()
        revisions.complete_visible_revisions()

        [delivery] = Delivery.objects.all()
        assert delivery.event == "artifact.ready"
        assert delivery.payload == {
            "index": "plain",
            "artifact_id": str(artifact.pk),
            "external_id": "b1",
            "revision": artifact.revision,
            "status": "ready",
            "error": None,
            "warnings": [],
        }

    def test_emits_why_a_document_failed(self, build, settings):
        settings.STRATA_WEBHOOK_URLS = ["http://127.0.0.1:9/"]
        artifact = give()
        mark_artifact_failed(artifact, Unparsable("broken", "It is broken."))

        revisions.complete_visible_revisions()

        [delivery] = Delivery.objects.all()
        assert delivery.event == "artifact.failed"
        assert delivery.payload["error"] == {"code": "broken", "detail": "It is broken."}

    def test_emits_the_result_of_a_retried_file(self, build, settings):
        settings.STRATA_WEBHOOK_URLS = ["http://127.0.0.1:9/"]
        artifact = give()
        Artifact.objects.filter(pk=artifact.pk).update(has_file=True)
        mark_artifact_failed(artifact, Unparsable("broken", "It is broken."))
        revisions.complete_visible_revisions()

        retry_parsing(Artifact.objects.all())
        artifact.refresh_from_db()
        mark_artifact_failed(artifact, Unparsable("broken", "It is still broken."))
        revisions.complete_visible_revisions()

        assert not PendingRevision.objects.exists()
        first, again = Delivery.objects.order_by("created_at")
        assert again.payload["error"]["detail"] == "It is still broken."
        assert again.payload["revision"] == artifact.revision > first.payload["revision"]

    def test_keeps_a_write_that_comes_meanwhile(self, build, monkeypatch):
        artifact = give("One heron.", title="Birds", external_id="b1")
        sync(build, artifact)
        later = []

        def write_and_get_progress(catalog, artifact_ids):
            later.append(give("Two herons.", title="Birds", external_id="b1"))
            return get_progress(catalog, artifact_ids)

        get_progress = LedgerIndexCatalog.get_indexing_progress
        monkeypatch.setattr(LedgerIndexCatalog, "get_indexing_progress", write_and_get_progress)
        assert revisions.complete_visible_revisions() == 1

        left = PendingRevision.objects.values_list("pk", flat=True)
        assert list(left) == [each.revision for each in later]

    def test_takes_no_more_queries_for_more_documents(self, build):
        counts = []
        for document_count in (1, 5):
            sync(build, *(give(f"Heron {n} of {document_count}.") for n in range(document_count)))
            with CaptureQueriesContext(connection) as queries:
                assert revisions.complete_visible_revisions() == document_count
            counts.append(len(queries))

        assert counts[0] == counts[1]
