from uuid import UUID, uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from documents import services as documents
from documents.models import Artifact, Source
from documents.services import TextContent, add_artifact
from indexing import services, tasks
from indexing.exceptions import ModelUnavailable, StoreUnavailable, UnchunkableText
from indexing.models import IndexBuild, Node
from indexing.progress import get_index_progress
from indexing.services import planning, syncing
from indexing.stores.base import Match, Point
from indexing.verification import verify_build
from tests.factories import PARAGRAPHS, give, sync
from tests.indexed import list_unplanned


def point_ids(store, build: IndexBuild) -> set[UUID]:
    return {point.id for batch in store.scroll(build.collection("chunk")) for point in batch}


def long_text(start: int = 0, stop: int = 60) -> str:
    return "\n\n".join(
        f"Observation {n}. {PARAGRAPHS[n % 4]} {PARAGRAPHS[(n + 1) % 4]} {PARAGRAPHS[(n + 2) % 4]}"
        for n in range(start, stop)
    )


class TestPlanNodes:
    def test_creates_a_row_for_every_chunk(self, build):
        artifact = give(long_text())

        services.plan_nodes(artifact.pk, build)

        rows = Node.objects.filter(build=build, artifact=artifact)
        sources = {source.pk: source for source in artifact.sources.all()}
        assert rows.count() > len(sources) > 0
        for row in rows:
            text = sources[row.source_id].text
            assert text[row.start_offset : row.end_offset] == row.text
        assert not list_unplanned(build)

    def test_changes_nothing_when_run_again(self, build):
        artifact = give(long_text())
        services.plan_nodes(artifact.pk, build)
        before = list(Node.objects.order_by("pk").values())

        services.plan_nodes(artifact.pk, build)

        assert list(Node.objects.order_by("pk").values()) == before

    def test_marks_the_rows_of_a_deleted_artifact_for_deletion(self, build):
        artifact = give()
        services.plan_nodes(artifact.pk, build)
        artifact_id = artifact.pk
        artifact.delete()

        services.plan_nodes(artifact_id, build)

        assert set(Node.objects.values_list("state", flat=True)) == {Node.State.DELETING}

    def test_keeps_the_rows_while_a_new_revision_is_being_parsed(self, build):
        artifact = give()
        sync(build, artifact)
        Artifact.objects.filter(pk=artifact.pk).update(state=Artifact.State.PARSING)

        services.plan_nodes(artifact.pk, build)

        assert set(Node.objects.values_list("state", flat=True)) == {Node.State.SYNCED}

    def test_fails_an_artifact_whose_text_cannot_be_cut(self, build, embedder, monkeypatch):
        artifact = give("Cannot be cut.", title="UnchunkableText")
        neighbour = give("Can be cut.", title="Neighbour")

        def refuse(texts):
            if any("Cannot" in text for text in texts):
                raise UnchunkableText("One character is wider than the window.")
            return [4 for _ in texts]

        monkeypatch.setattr(embedder, "count_tokens", refuse)
        sync(build, artifact, neighbour)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.error_code) == (Artifact.State.FAILED, "uncuttable")
        assert "wider than the window" in artifact.error_detail
        assert [node.artifact_id for node in Node.objects.all()] == [neighbour.pk]
        assert verify_build(build).is_sound

    def test_fails_only_the_artifact_with_too_many_nodes(self, build, settings, monkeypatch):
        monkeypatch.setattr(planning, "DRAFTS_PER_PART", 2)  # some are written before it is known
        settings.STRATA_MAX_DOCUMENT_NODES = 5
        artifact, neighbour = give(long_text()), give("A heron waits.", title="Neighbour")

        sync(build, artifact, neighbour)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.error_code) == (Artifact.State.FAILED, "too_many_nodes")
        assert artifact.error_detail == (
            "The document makes more than 5 nodes (chunks, summaries, questions). Split it into "
            "several documents, or raise STRATA_MAX_DOCUMENT_NODES."
        )
        assert [node.artifact_id for node in Node.objects.all()] == [neighbour.pk]
        assert verify_build(build).is_sound

    def test_accepts_an_artifact_with_the_maximum_number_of_nodes(self, build, settings):
        artifact = give(long_text())
        services.plan_nodes(artifact.pk, build)
        settings.STRATA_MAX_DOCUMENT_NODES = Node.objects.count()

        services.plan_nodes(artifact.pk, build)

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.PARSED


class TestSyncNodes:
    def test_writes_one_point_per_row(self, build, store):
        artifact = give(long_text())

        sync(build, artifact)

        assert point_ids(store, build) == set(Node.objects.values_list("point_id", flat=True))
        assert verify_build(build).is_sound

    def test_embeds_only_what_an_edit_changed(self, build, store, embedder):
        artifact = give(long_text(), external_id="notes")
        sync(build, artifact)
        embedder.embedded.clear()
        edited = long_text().replace("Observation 30.", "Observation thirty, corrected.")

        sync(build, give(edited, external_id="notes"))

        assert 1 <= len([text for text in embedder.embedded if text != artifact.title]) <= 4
        assert verify_build(build).is_sound

    def test_embeds_no_text_that_only_moved(self, build, store, embedder):
        pages = (long_text(0, 20), long_text(20, 40))
        sync(build, add_artifact("plain", TextContent(pages), external_id="notes")[0])
        embedder.embedded.clear()

        pages = ("A new first page.", *pages)
        sync(build, add_artifact("plain", TextContent(pages), external_id="notes")[0])

        assert embedder.embedded == ["A new first page."]
        assert verify_build(build).is_sound

    def test_embeds_nothing_when_metadata_changes(self, build, store, embedder):
        artifact = give(metadata={"venue": "ACL"})
        sync(build, artifact)
        embedder.embedded.clear()

        documents.update_artifact(artifact.pk, metadata={"venue": "EMNLP"})
        sync(build, artifact)

        assert embedder.embedded == []
        [batch] = store.scroll(build.collection("chunk"))
        assert {point.payload["metadata"]["venue"] for point in batch} == {"EMNLP"}
        assert verify_build(build).is_sound

    def test_embeds_again_when_the_title_is_context_and_changes(self, build, embedder):
        artifact = give()
        sync(build, artifact)
        embedder.embedded.clear()

        documents.update_artifact(artifact.pk, title="Renamed")
        sync(build, artifact)

        assert embedder.embedded
        assert all(text.startswith("Renamed") for text in embedder.embedded)

    def test_removes_vanished_points_only_after_new_ones_are_written(self, build, store):
        sync(build, give("Old words only.", external_id="notes"))
        old = point_ids(store, build)
        artifact = give("Entirely different sentences.", external_id="notes")
        services.plan_nodes(artifact.pk, build)

        assert not Node.objects.deletable(build).exists()
        sync(build)

        assert point_ids(store, build).isdisjoint(old)
        assert len(point_ids(store, build)) == 1

    def test_counts_no_attempt_if_the_store_is_unavailable(self, build, store, monkeypatch):
        services.plan_nodes(give().pk, build)

        def refuse(*args: object) -> None:
            raise StoreUnavailable("The store is down.")

        monkeypatch.setattr(store, "upsert", refuse)
        with pytest.raises(StoreUnavailable):
            services.sync_nodes(build)

        node = Node.objects.first()
        assert (node.attempts, node.state, node.lease_token) == (0, Node.State.PENDING, None)
        assert node.last_error == "The store is down."

    def test_fails_only_the_row_that_raises_errors(self, build, store, embedder, monkeypatch):
        whole = embedder.embed_documents
        poison = give("The poison stands here.", title="Poison")
        healthy = [give(f"Harmless text number {n}.", title=f"Harmless {n}") for n in range(5)]

        def embed(texts):
            if any("poison" in text for text in texts):
                raise ZeroDivisionError("cannot embed this")
            return whole(texts)

        monkeypatch.setattr(embedder, "embed_documents", embed)
        sync(build, poison, *healthy)

        failed = Node.objects.get(state=Node.State.FAILED)
        assert failed.artifact_id == poison.pk
        assert "cannot embed this" in failed.last_error
        assert Node.objects.filter(state=Node.State.SYNCED).count() == 5
        assert verify_build(build).is_sound

    def test_fails_a_node_whose_worker_died_each_time(self, build, settings):
        services.plan_nodes(give("One.").pk, build)
        Node.objects.update(attempts=settings.STRATA_MAX_ATTEMPTS)

        sync(build)

        assert Node.objects.get().state == Node.State.FAILED

    def test_stops_between_slices_and_releases_everything(self, build):
        services.plan_nodes(give(long_text()).pk, build)

        assert services.sync_nodes(build, should_stop=lambda: True) == 0

        held = Node.objects.exclude(attempts=0) | Node.objects.exclude(lease_token=None)
        assert not held.exists()

    def test_ends_a_batch_early_for_a_build_that_comes_to_wait(self, build, monkeypatch):
        monkeypatch.setattr(syncing, "TEXTS_PER_CHECK", 2)
        for number in range(5):
            services.plan_nodes(give(f"Heron {number}.").pk, build)
        waits = iter([False, True])  # it comes during the first part

        assert services.sync_nodes(build, is_awaited=lambda: next(waits)) == 2

        assert Node.objects.filter(state=Node.State.SYNCED).count() == 2
        left = Node.objects.filter(state=Node.State.PENDING)
        assert list(left.values_list("attempts", "lease_token")) == [(0, None)] * 3
        build.refresh_from_db()
        assert build.embedded_count == 2
        sync(build)
        assert verify_build(build).is_sound

    def test_writes_what_took_long_before_it_embeds_more(self, build, monkeypatch):
        monkeypatch.setattr(syncing, "TEXTS_PER_CHECK", 2)
        monkeypatch.setattr(syncing, "SECONDS_PER_WRITE", 0)
        services.plan_nodes(give(long_text()).pk, build)

        assert services.sync_nodes(build) == 2

        assert Node.objects.filter(state=Node.State.SYNCED).count() == 2
        sync(build)
        assert verify_build(build).is_sound

    def test_ends_a_batch_early_for_a_document_that_is_added_meanwhile(
        self, build, embedder, monkeypatch
    ):
        monkeypatch.setattr(syncing, "TEXTS_PER_CHECK", 2)
        monkeypatch.setattr(planning, "NODES_PER_TURN", 4)
        services.plan_nodes(give(long_text(), title="Large").pk, build)
        embed, added = embedder.embed_documents, []

        def add_and_embed(texts):
            if not added:
                added.append(give("One heron.", title="Small"))
                services.plan_nodes(added[0].pk, build)
            return embed(texts)

        monkeypatch.setattr(embedder, "embed_documents", add_and_embed)

        assert services.sync_nodes(build) == 2
        services.sync_nodes(build)

        assert Node.objects.get(artifact=added[0]).state == Node.State.SYNCED

    def test_claims_little_while_another_build_waits(self, build, monkeypatch):
        monkeypatch.setattr(syncing, "TEXTS_PER_CHECK", 2)
        for number in range(5):
            services.plan_nodes(give(f"Heron {number}.").pk, build)

        assert services.sync_nodes(build, is_awaited=lambda: True) == 2


class TestALostClaim:
    """A worker that was frozen past its lease must leave no wrong data when it resumes."""

    def test_writes_nothing_once_its_lease_has_expired(self, build, store):
        services.plan_nodes(give("One.").pk, build)
        claim = services.claim_nodes(build, 10)
        Node.objects.update(leased_until=timezone.now() - timezone.timedelta(seconds=1))

        syncing._sync_claim(build, claim, lambda: False)

        assert point_ids(store, build) == set()

    def test_writes_a_point_again_that_was_replanned_during_the_write(
        self, build, store, monkeypatch
    ):
        artifact = give("First words.", external_id="a")
        services.plan_nodes(artifact.pk, build)
        upsert = store.upsert

        def replan_meanwhile(name, points):
            upsert(name, points)
            if Node.objects.filter(attempts=1, lease_token__isnull=False).exists():
                documents.update_artifact(artifact.pk, title="Renamed meanwhile")
                services.plan_nodes(artifact.pk, build)

        monkeypatch.setattr(store, "upsert", replan_meanwhile)
        services.sync_nodes(build)
        assert Node.objects.get().state == Node.State.PENDING
        monkeypatch.setattr(store, "upsert", upsert)
        sync(build)

        assert verify_build(build).is_sound
        [[point]] = store.scroll(build.collection("chunk"))
        assert point.payload["artifact_title"] == "Renamed meanwhile"

    def test_leaves_no_point_that_was_deleted_during_the_write(self, build, store, monkeypatch):
        artifact = give("One.")
        services.plan_nodes(artifact.pk, build)
        upsert = store.upsert

        def delete_meanwhile(name, points):
            upsert(name, points)
            Artifact.objects.filter(pk=artifact.pk).delete()
            Node.objects.all().delete()

        monkeypatch.setattr(store, "upsert", delete_meanwhile)
        services.sync_nodes(build)

        assert point_ids(store, build) == set()


class TestDeleteRemovedNodes:
    def test_writes_again_a_node_that_was_replanned_during_the_removal(
        self, build, store, monkeypatch
    ):
        sync(build, give("Kept words.", external_id="a"))
        synced = Node.objects.get()
        Node.objects.update(state=Node.State.DELETING)
        delete = store.delete

        def want_back_meanwhile(name, ids):
            services.plan_nodes(synced.artifact_id, build)
            delete(name, ids)

        monkeypatch.setattr(store, "delete", want_back_meanwhile)
        services.delete_removed_nodes(build)
        monkeypatch.setattr(store, "delete", delete)
        sync(build)

        assert point_ids(store, build) == {synced.point_id}
        assert verify_build(build).is_sound


class TestAuditDocuments:
    def test_finds_a_text_changed_without_a_signal(self, build):
        artifact = give("Old words.")
        sync(build, artifact)
        Source.objects.update(text="New words.")

        assert services.audit_documents(build) == {artifact.pk}

        sync(build, artifact)
        assert Node.objects.get().text == "New words."
        assert verify_build(build).is_sound

    def test_finds_a_title_changed_without_a_signal(self, build):
        artifact = give()
        sync(build, artifact)
        Artifact.objects.update(title="Other")

        assert services.audit_documents(build) == {artifact.pk}

    def test_finds_rows_whose_sources_are_gone(self, build):
        artifact = give()
        sync(build, artifact)
        Source.objects.all()._raw_delete("default")

        assert services.audit_documents(build) == {artifact.pk}

    def test_restores_nodes_that_were_deleted_without_a_signal(self, build):
        sync(build, give())
        count = Node.objects.count()
        Node.objects.filter(pk=Node.objects.first().pk)._raw_delete("default")

        services.audit_documents(build)

        planner = planning.DocumentPlanner()
        while planner.plan_next(build) or services.sync_nodes(build):
            pass
        assert Node.objects.count() == count
        assert verify_build(build).is_sound

    def test_checks_every_artifact_in_turn(self, build, settings):
        settings.STRATA_AUDIT_SOURCES = 2
        artifacts = [give(f"Text {n}.", title=f"T{n}") for n in range(5)]
        sync(build, *artifacts)
        Source.objects.update(text="Changed.")

        found: set[UUID] = set()
        for _ in range(4):
            build.refresh_from_db()
            found.update(services.audit_documents(build))

        assert found == {artifact.pk for artifact in artifacts}


class TestRows:
    def test_without_hashes_are_valid_and_planning_adds_the_hashes(self, build):
        artifact = give()
        sync(build, artifact)
        Node.objects.update(text_hash=None, source_hash=None)
        Source.objects.update(content_hash=None)

        assert list_unplanned(build) == [artifact]
        sync(build, artifact)

        assert not Node.objects.filter(source_hash=None).exists()
        assert verify_build(build).is_sound


class TestVerifyBuild:
    def test_finds_and_repairs_each_kind_of_difference(self, build, store):
        artifacts = [give(f"Text number {n}.", title=f"T{n}") for n in range(4)]
        sync(build, *artifacts)
        collection = build.collection("chunk")
        nodes = {node.artifact_id: node for node in Node.objects.all()}
        missing, outdated, stale, healthy = (nodes[artifact.pk] for artifact in artifacts)
        store.delete(collection, [missing.point_id])
        store.replace_payloads(collection, {outdated.point_id: {"text": "someone else's"}})
        Source.objects.filter(artifact=stale.artifact_id).update(text="Moved on.")
        orphan = store.retrieve(collection, [healthy.point_id], with_vectors=True)
        [point] = orphan.values()
        store.upsert(
            collection,
            [Point(uuid4(), point.dense, point.sparse, point.payload)],
        )

        report = verify_build(build, repair=True)

        assert report.findings == {"unplanned": 1, "missing": 1, "outdated": 1, "orphan": 1, **(
            {"pending": 1} if "pending" in report.findings else {}
        ), **({"deleting": 1} if "deleting" in report.findings else {})}  # fmt: skip
        sync(build)
        assert verify_build(build).is_sound
        assert store.count(collection, Match("kind", ["chunk"])) == 4

    def test_reports_pending_nodes(self, build):
        services.plan_nodes(give().pk, build)

        report = verify_build(build)

        assert set(report.findings) == {"pending"}
        assert not report.is_sound

    def test_finds_a_chunk_with_wrong_offsets(self, build):
        sync(build, give())
        Node.objects.update(start_offset=F("start_offset") + 1)

        assert "misplaced" in verify_build(build).findings


class TestAddArtifact:
    def test_changes_nothing_for_the_same_content_under_the_same_id(self, build, embedder):
        artifact, _ = documents.add_artifact("plain", TextContent(("A.",)), external_id="x")
        sync(build, artifact)
        embedder.embedded.clear()

        again, verdict = documents.add_artifact("plain", TextContent(("A.",)), external_id="x")
        sync(build, again)

        assert (again.pk, verdict) == (artifact.pk, documents.AddOutcome.UNCHANGED)
        assert embedder.embedded == []


class TestNoteProblem:
    def test_is_shown_until_the_build_is_synced(self, build, embedder, monkeypatch):
        whole = embedder.embed_documents
        give("One.")

        def fail(texts):
            raise ModelUnavailable("The model is missing.", fix="Install it.")

        monkeypatch.setattr(embedder, "embed_documents", fail)
        tasks.plan_build(build_id=build.pk)
        tasks.sync_nodes(build_id=build.pk)
        [waiting] = get_index_progress("plain")
        monkeypatch.setattr(embedder, "embed_documents", whole)
        tasks.sync_nodes(build_id=build.pk)
        [synced] = get_index_progress("plain")

        assert waiting["problem"] == "The model is missing. Install it."
        assert waiting["nodes"]["pending"] == 1
        assert synced["problem"] is None
        assert synced["nodes"]["synced"] == 1
        assert Node.objects.get().attempts == 0
