"""Concurrent work on PostgreSQL, whose write transactions run in parallel, unlike SQLite's."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now

from documents import services as documents
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.services import AddOutcome, TextContent
from indexing import services
from indexing.models import Node, NodeCountChange
from indexing.point_audit import audit_next_points
from indexing.verification import verify_build
from tests.factories import give, original_path, sync

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 8


def long_text(word: str = "Observation", count: int = 80) -> str:
    sentence = "the heron stood in the shallows at dawn and waited for fish without moving"
    return "\n\n".join(f"{word} {n}: {sentence}, {sentence}, {sentence}." for n in range(count))


@pytest.mark.usefixtures("no_messages")
class TestClaimNodes:
    def test_claims_no_node_for_two_workers(self, build, at_once):
        services.plan_nodes(give(long_text()).pk, build)
        every_node = set(Node.objects.values_list("pk", flat=True))

        def claim_all(worker):
            claimed = []
            while claim := services.claim_nodes(build, 3):
                claimed += [node.pk for node in claim.rows]
            return claimed

        claims = at_once(claim_all, list(range(WORKERS)))

        handed_out = Counter(pk for claimed in claims for pk in claimed)
        assert set(handed_out) == every_node
        assert set(handed_out.values()) == {1}
        assert sum(bool(claimed) for claimed in claims) > 1
        assert set(Node.objects.values_list("attempts", flat=True)) == {1}

    def test_skips_nodes_that_another_worker_is_claiming(self, build, at_once):
        services.plan_nodes(give(long_text()).pk, build)
        Node.objects.update(turn=0)
        half = Node.objects.order_by("pk")[: Node.objects.count() // 2]

        def claim(worker):
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")  # the test fails if it waits
            return services.claim_nodes(build, 1_000)

        with transaction.atomic():
            locked = {node.pk for node in half.select_for_update()}
            [claimed] = at_once(claim, [0])

        assert locked
        assert {node.pk for node in claimed.rows} == (
            set(Node.objects.values_list("pk", flat=True)) - locked
        )

    def test_claims_a_lease_that_expired_by_the_clock_of_the_database(self, build):
        services.plan_nodes(give("One.").pk, build)
        services.claim_nodes(build, 10)
        assert services.claim_nodes(build, 10) is None

        Node.objects.update(leased_until=Now() - timedelta(seconds=1))

        assert services.claim_nodes(build, 10) is not None


@pytest.mark.usefixtures("no_messages")
class TestPlanNodes:
    def test_writes_one_ledger_if_many_plan_at_once(self, build, at_once):
        artifact = give(long_text(), external_id="notes")

        at_once(lambda worker: services.plan_nodes(artifact.pk, build), list(range(4)))

        planned = Node.objects.filter(build=build, artifact=artifact)
        drafts = services.draft_rows(artifact, build, ["chunk"])
        assert {node.point_id for node in planned} == {draft.point_id for draft in drafts}
        assert set(planned.values_list("state", flat=True)) == {Node.State.PENDING}
        sync(build)
        assert verify_build(build).is_sound

    def test_matches_the_last_of_several_revisions(self, build, at_once):
        artifact = give(long_text(), external_id="notes")

        def revise_or_plan(worker):
            for number in range(4):
                if worker == 0:
                    give(long_text(f"Revision {number}"), external_id="notes")
                services.plan_nodes(artifact.pk, build)

        at_once(revise_or_plan, list(range(4)))

        sync(build)
        assert verify_build(build).is_sound
        assert all("Revision 3" in text for text in Node.objects.values_list("text", flat=True))


@pytest.mark.usefixtures("no_messages")
class TestSyncNodes:
    def test_agrees_with_documents_after_they_change_repeatedly(self, build, settings, at_once):
        settings.STRATA_SYNC_BATCH = 16
        artifacts = [give(long_text(f"Log {n}", 20), external_id=f"log-{n}") for n in range(3)]

        def change_or_sync(worker):
            for number in range(6):
                for n, artifact in enumerate(artifacts):
                    if worker < 2:
                        documents.update_artifact(artifact.pk, title=f"Title {worker} {number}")
                        services.plan_nodes(artifact.pk, build)
                    elif worker == 2:
                        text = long_text(f"Log {n}", 20 - number % 2)
                        give(text, external_id=f"log-{n}", title="Given again")
                        services.plan_nodes(artifact.pk, build)
                    else:
                        services.sync_nodes(build)

        at_once(change_or_sync, list(range(5)))

        sync(build, *artifacts)
        assert verify_build(build).findings == {}
        assert set(Node.objects.values_list("state", flat=True)) == {Node.State.SYNCED}
        # A deadlock would have left an error on its nodes.
        assert not Node.objects.exclude(last_error="").exists()


class TestAddArtifact:
    def test_adds_one_artifact_for_the_same_text_from_many_threads(self, build, at_once):
        def add(worker):
            return documents.add_artifact("plain", TextContent((long_text(),)), title="Notes")

        given = at_once(add, list(range(WORKERS)))

        artifact = Artifact.objects.get()
        assert {each.pk for each, _ in given} == {artifact.pk}
        assert Counter(verdict for _, verdict in given) == {
            AddOutcome.ADDED: 1, AddOutcome.UNCHANGED: WORKERS - 1,
        }  # fmt: skip
        assert {each.revision for each, _ in given} == {artifact.revision}
        assert verify_build(build).is_sound

    def test_keeps_one_original_for_the_same_file_from_many_threads(self, build, settings, at_once):
        def add(worker):
            return documents.add_artifact("plain", save_incoming_file("notes.txt", [b"Kept once."]))

        given = at_once(add, list(range(WORKERS)))

        artifact = Artifact.objects.get()
        assert {each.pk for each, _ in given} == {artifact.pk}
        files = [path for path in Path(settings.STRATA_FILES_DIR).rglob("*") if path.is_file()]
        assert files == [original_path(artifact)]
        assert verify_build(build).is_sound

    def test_gives_simultaneous_revisions_distinct_numbers(self, build, at_once):
        def add(worker):
            return give(long_text(f"Writer {worker}", 20), external_id="contested")

        revisions = {artifact.revision for artifact in at_once(add, list(range(WORKERS)))}

        artifact = Artifact.objects.get()
        assert len(revisions) == WORKERS
        assert artifact.revision == max(revisions)
        [text] = {source.text.split(":")[0] for source in artifact.sources.all()}
        assert text.startswith("Writer")
        sync(build, artifact)
        assert verify_build(build).is_sound


@pytest.mark.usefixtures("no_messages")
class TestAuditNextPoints:
    def test_keeps_the_right_count_while_nodes_change(self, build, at_once):
        artifacts = [give(long_text(f"Notes {n}", 20), external_id=str(n)) for n in range(4)]
        for artifact in artifacts:
            services.plan_nodes(artifact.pk, build)

        def change_or_audit(worker):
            for number in range(3):
                if worker < 2:
                    audit_next_points(build)
                    continue
                give(long_text(f"Revision {number}", 20), external_id=str(worker))
                services.plan_nodes(artifacts[worker].pk, build)
                services.sync_nodes(build)

        at_once(change_or_audit, list(range(4)))
        sync(build)

        assert verify_build(build).is_sound
        counted = NodeCountChange.objects.aggregate(
            synced=Sum("synced_count"), nodes=Sum("node_count")
        )
        assert counted == {"synced": Node.objects.count(), "nodes": Node.objects.count()}
