from uuid import uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from core.exceptions import InvalidInput, UnknownIndex
from core.leases import release_all_leases
from documents.models import Artifact, Source
from indexing.exceptions import EmbeddingUnavailable, UnknownRegeneration
from indexing.models import IndexBuild, Node, Regeneration
from indexing.regeneration import (
    DueWork,
    begin_regeneration,
    cancel_regeneration,
    claim_regeneration,
    get_regeneration,
    get_regeneration_progress,
    job,
    regenerate_next_artifacts,
    scope,
)
from indexing.services import plan_nodes, sync_nodes
from indexing.stores import get_store
from summaries import services as summaries
from summaries.models import Annotation, Summary
from summaries.services import hash_inputs
from tests.factories import give, sync
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db

TYPES = ["chunk", "compound", "concept", "image", "question", "summary", "vocabulary"]


def go_through(row: Regeneration, due: DueWork | None = None) -> Regeneration:
    """Run a regeneration as one uninterrupted worker does."""
    claimed = claim_regeneration(row.pk)
    assert claimed is not None
    while regenerate_next_artifacts(claimed, due or DueWork()):
        pass
    row.refresh_from_db()
    return row


def sync_all(build: IndexBuild) -> None:
    while sync_nodes(build):
        pass


def in_order(*artifacts: Artifact) -> list[Artifact]:
    return sorted(artifacts, key=lambda artifact: artifact.pk)


def due_artifacts() -> set:
    pending = Node.objects.filter(state=Node.State.PENDING)
    return set(pending.values_list("artifact_id", flat=True))


@pytest.fixture
def three(build) -> list[Artifact]:
    """Three synced artifacts of one node each, in the order of their ids."""
    artifacts = in_order(*(give(f"The {name} waits.") for name in ("heron", "ledger", "bread")))
    sync(build, *artifacts)
    return artifacts


@pytest.fixture
def wide(db, store, embedder) -> IndexBuild:
    """An empty build with every kind of node."""
    return make_build("wide", **ALL_KINDS)


class TestBeginRegeneration:
    def test_counts_the_artifacts_to_process(self, three):
        assert begin_regeneration(["chunk"], index="plain").total_count == 3
        assert begin_regeneration(["chunk"]).total_count == 3
        assert begin_regeneration(["chunk"], offset=2).total_count == 1
        assert begin_regeneration(["chunk"], limit=2, offset=2).total_count == 1
        assert begin_regeneration(["chunk"], offset=5).total_count == 0
        assert begin_regeneration(["chunk"], artifact_ids=[three[0].pk]).total_count == 1

    @pytest.mark.parametrize("named", [False, True])
    def test_returns_an_equal_one_that_is_queued(self, three, named):
        given = {"artifact_ids": [three[0].pk]} if named else {"index": "plain", "limit": 2}
        waiting = begin_regeneration(["chunk"], **given)

        assert begin_regeneration(["chunk"], **given).pk == waiting.pk
        assert begin_regeneration(["chunk"], **given, is_for_stale=True).pk != waiting.pk

        claim_regeneration(waiting.pk)
        assert begin_regeneration(["chunk"], **given).pk != waiting.pk

    def test_treats_all_as_every_type(self, build):
        assert begin_regeneration(["all"]).types == TYPES

    def test_treats_sources_as_chunks(self, build):
        assert begin_regeneration(["source"]).types == ["chunk"]

    def test_names_the_available_types(self, build):
        with pytest.raises(InvalidInput) as raised:
            begin_regeneration(["idea"])

        assert raised.value.field == "type"
        assert raised.value.allowed == sorted(["all", *TYPES])

    def test_refuses_a_type_that_the_index_does_not_have(self, build):
        with pytest.raises(InvalidInput, match="plain has no nodes of type 'summary'") as raised:
            begin_regeneration(["summary"], index="plain")

        assert raised.value.allowed == ["all", "chunk"]

    def test_names_the_existing_indexes(self, build):
        with pytest.raises(UnknownIndex) as raised:
            begin_regeneration(["chunk"], index="nil")

        assert "plain" in raised.value.allowed

    def test_limits_the_number_of_named_artifacts(self, build, monkeypatch):
        monkeypatch.setattr("indexing.regeneration.requests.MAX_NAMED_ARTIFACTS", 2)
        begin_regeneration(["chunk"], artifact_ids=[uuid4(), uuid4()])

        with pytest.raises(InvalidInput, match="not 3"):
            begin_regeneration(["chunk"], artifact_ids=[uuid4() for _ in range(3)])


class TestRegenerateChunks:
    def test_cuts_and_embeds_every_chunk_again(self, three, build, embedder):
        embedder.embedded.clear()

        row = go_through(begin_regeneration(["chunk"], index="plain"))
        sync_all(build)

        assert (row.state, row.done_count, row.due_artifact_count, row.due_node_count) == (
            "done",
            3,
            3,
            3,
        )
        assert row.finished_at is not None
        assert len(embedder.embedded) == 3
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()

    def test_replans_chunks_that_are_now_cut_differently(self, three, build):
        Node.objects.filter(artifact=three[0]).update(text="Cut by another version", text_hash="x")

        go_through(begin_regeneration(["chunk"]))

        assert Node.objects.get(artifact=three[0]).text in three[0].pages.get().text

    def test_covers_every_build_that_is_not_retired(self, three, build, embedder):
        second, third = (
            IndexBuild.objects.create(
                index=build.index, number=number, recipe=build.recipe, fingerprint="f", state=state
            )
            for number, state in ((7, "building"), (8, "retired"))
        )
        sync(second, *three)
        Node.objects.filter(build=build, artifact=three[0]).update(build=third)
        embedder.embedded.clear()
        due = DueWork()

        go_through(begin_regeneration(["chunk"]), due)
        sync_all(build)
        sync_all(second)

        assert due.builds == {build.pk, second.pk}
        assert len(embedder.embedded) == 3  # and no earlier vector was copied
        assert Node.objects.get(build=third).state == "synced"

    def test_ignores_documents_of_other_indexes(self, three, build):
        other = make_build("other")
        elsewhere = give("One heron.", index="other")
        sync(other, elsewhere)

        go_through(begin_regeneration(["chunk"], index="other"))

        assert due_artifacts() == {elsewhere.pk}

    def test_is_done_at_once_without_documents(self, build):
        row = go_through(begin_regeneration(["all"]))

        assert (row.state, row.done_count) == ("done", 0)

    def test_skips_documents_removed_meanwhile(self, three, build, monkeypatch):
        monkeypatch.setattr(scope, "ROWS_PER_STEP", 1)
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        regenerate_next_artifacts(claimed, DueWork())
        three[1].delete()
        claimed.get_claim().give_back()

        go_through(row)

        assert (row.state, row.done_count, row.total_count) == ("done", 2, 2)


class TestLimitAndOffset:
    @pytest.mark.parametrize(
        ("limit", "offset", "meant"),
        [(None, 0, [0, 1, 2]), (2, 0, [0, 1]), (1, 1, [1]), (None, 2, [2]), (5, 1, [1, 2])],
    )
    @pytest.mark.parametrize("slice_size", [1, 100])
    def test_count_artifacts_in_the_order_of_their_ids(
        self, three, build, monkeypatch, limit, offset, meant, slice_size
    ):
        monkeypatch.setattr(scope, "ROWS_PER_STEP", slice_size)

        row = go_through(begin_regeneration(["chunk"], limit=limit, offset=offset))

        assert due_artifacts() == {three[place].pk for place in meant}
        assert row.done_count == row.total_count == len(meant)

    def test_apply_to_named_artifacts_too(self, three, build):
        named = [artifact.pk for artifact in three]

        go_through(begin_regeneration(["chunk"], artifact_ids=named, limit=1, offset=1))

        assert due_artifacts() == {three[1].pk}


class TestRegenerateSummaries:
    def test_writes_and_embeds_them_again(self, wide):
        artifact = give(index="wide")
        write_all(wide, artifact)

        row = go_through(begin_regeneration(["summary"], index="wide"))

        due = Summary.objects.filter(state="due", is_cache_bypassed=True)
        assert row.due_text_count == due.count() == Summary.objects.count() == 2
        assert row.due_node_count == 2
        pending = Node.objects.filter(state="pending").values_list("kind", flat=True)
        assert set(pending) == {"page_summary", "artifact_summary"}
        assert not Annotation.objects.filter(state="due").exists()

    def test_embeds_edited_texts_without_changing_them(self, wide, embedder):
        artifact = give(index="wide")
        write_all(wide, artifact)
        page = artifact.pages.get()
        [by_hand] = summaries.edit_summary(artifact.pk, page.pk, "What a person wrote.")
        plan_nodes(artifact.pk, wide)
        sync_all(wide)
        embedder.embedded.clear()

        go_through(begin_regeneration(["summary"], index="wide"))
        sync_all(wide)

        by_hand.refresh_from_db()
        assert (by_hand.state, by_hand.is_by_hand) == ("written", True)
        assert any("What a person wrote." in text for text in embedder.embedded)

    def test_requests_no_text_about_an_empty_page(self, wide):
        artifact = give("\f", index="wide")
        summaries.plan_written_texts(artifact.pk, wide)
        Summary.objects.of_artifacts().update(state="written", written_input_hash=hash_inputs([]))

        row = go_through(begin_regeneration(["summary"], index="wide"))

        assert row.due_text_count == 0
        assert row.due_artifact_count == 0


class TestRegenerateQuestions:
    def test_writes_and_embeds_them_again(self, wide):
        write_all(wide, give(index="wide"))

        row = go_through(begin_regeneration(["question"], index="wide"))

        assert row.due_text_count == Annotation.objects.filter(state="due").count() > 0
        pending = Node.objects.filter(state="pending")
        assert set(pending.values_list("kind", flat=True)) == {"question"}
        assert row.due_node_count == pending.count() == Node.objects.filter(kind="question").count()
        assert not Summary.objects.filter(state="due").exists()


class TestOnlyMissing:
    def begin(self, types=("chunk",), **given) -> Regeneration:
        return go_through(begin_regeneration(types, is_for_missing=True, **given))

    def test_skips_complete_documents(self, three, build, embedder):
        embedder.embedded.clear()

        row = self.begin()

        assert (row.state, row.done_count, row.due_artifact_count, row.due_node_count) == (
            "done",
            3,
            0,
            0,
        )
        assert due_artifacts() == set()

    @pytest.mark.parametrize("slice_size", [1, 100])
    def test_counts_only_regenerated_documents_against_the_limit(
        self, three, build, monkeypatch, slice_size
    ):
        monkeypatch.setattr(scope, "ROWS_PER_STEP", slice_size)
        Node.objects.filter(artifact__in=three[1:]).delete()

        row = go_through(begin_regeneration(["chunk"], is_for_missing=True, limit=1))

        assert (row.state, row.done_count, row.due_artifact_count) == ("done", 2, 1)
        assert due_artifacts() == {three[1].pk}

    def test_plans_documents_without_nodes(self, three, build):
        Node.objects.filter(artifact=three[1]).delete()

        row = self.begin()

        assert due_artifacts() == {three[1].pk}
        assert (row.due_artifact_count, row.due_node_count) == (1, 1)

    def test_tries_failed_nodes_again(self, three, build):
        failed = Node.objects.filter(artifact=three[2])
        failed.update(state="failed", attempts=5, last_error="Broken.")

        self.begin()

        assert due_artifacts() == {three[2].pk}
        assert failed.get().attempts == 0

    def test_embeds_nodes_whose_points_are_lost(self, build, embedder):
        text = "\n\n".join(f"Paragraph {n} on herons. " * 20 for n in range(4))
        lossy, whole = give(text), give("One ledger.")
        sync(build, lossy, whole)
        lost, *kept = Node.objects.filter(artifact=lossy).order_by("pk")
        assert kept
        get_store().delete(build.collection("chunk"), [lost.point_id])
        embedder.embedded.clear()

        row = self.begin()
        sync_all(build)

        assert (row.due_artifact_count, row.due_node_count) == (1, 1)
        assert len(embedder.embedded) == 1
        points = get_store().retrieve(build.collection("chunk"), [lost.point_id])
        assert points[lost.point_id].payload["text"] == lost.text

    def test_examines_every_node_of_a_large_document(self, build, monkeypatch):
        monkeypatch.setattr(scope, "ROWS_PER_STATEMENT", 2)
        monkeypatch.setattr(job, "ROWS_PER_STATEMENT", 2)
        text = "\n\n".join(f"Paragraph {n} on herons. " * 20 for n in range(7))
        sync(build, give(text))
        assert Node.objects.count() > 4
        get_store().drop_collection(build.collection("chunk"))

        row = self.begin()

        assert row.due_node_count == Node.objects.filter(state="pending").count()
        assert row.due_node_count == Node.objects.count()

    def test_retries_only_refused_texts(self, wide):
        refused, written = give("One heron waits.", index="wide"), give("A ledger.", index="wide")
        write_all(wide, refused, written)
        Annotation.objects.filter(artifact=refused).update(state="failed", is_by_hand=True)
        Summary.objects.of_artifacts().filter(artifact=refused).update(state="failed")

        row = self.begin(("all",), index="wide")

        assert row.due_artifact_count == 1
        assert row.due_text_count == 2
        assert set(Annotation.objects.filter(state="due").values_list("artifact")) == {
            (refused.pk,)
        }
        assert Summary.objects.get(state="due").kind == "artifact_summary"
        assert not Summary.objects.filter(is_cache_bypassed=True).exists()


class TestStale:
    def begin(self, types=("chunk",), **given) -> Regeneration:
        return go_through(begin_regeneration(types, is_for_stale=True, **given))

    def test_skips_unchanged_documents(self, three, build):
        row = self.begin()

        assert (row.done_count, row.due_artifact_count) == (3, 0)

    @pytest.mark.parametrize("name", ["text_hash", "source_hash"])
    def test_hashes_old_rows_without_embedding_them(self, three, build, embedder, name):
        hashes = Node.objects.get(artifact=three[0])
        Node.objects.filter(artifact=three[0]).update(**{name: None})
        embedder.embedded.clear()

        row = self.begin()
        sync_all(build)

        assert row.due_artifact_count == 1
        cured = Node.objects.get(artifact=three[0])
        assert getattr(cured, name) == getattr(hashes, name) is not None
        assert embedder.embedded == []

    def test_finds_one_row_without_a_hash(self, build):
        sync(build, give("\n\n".join(f"Paragraph {n} on herons. " * 20 for n in range(4))))
        Node.objects.filter(chunk_index=1).update(text_hash=None)

        self.begin()

        assert Node.objects.get(state="pending").chunk_index == 1

    def test_finds_texts_that_changed_without_a_signal(self, three, build):
        Source.objects.filter(artifact=three[1]).update(text="The stork waits.")

        row = self.begin()

        assert due_artifacts() == {three[1].pk}
        assert row.due_artifact_count == 1
        assert Node.objects.get(state="pending").text == "The stork waits."

    def test_finds_sources_that_were_never_hashed(self, three, build):
        Source.objects.filter(artifact=three[1]).update(content_hash=None)
        Source.objects.filter(artifact=three[2]).update(content_hash=None, text="The stork.")

        self.begin()

        assert due_artifacts() == {three[2].pk}
        assert not Source.objects.filter(content_hash=None).exists()

    def test_finds_titles_that_changed_without_a_signal(self, three, build):
        Artifact.objects.filter(pk=three[0].pk).update(title="Storks")

        self.begin()

        assert due_artifacts() == {three[0].pk}

    def test_requests_no_text_that_is_up_to_date(self, wide):
        write_all(wide, give(index="wide"))

        row = self.begin(("all",), index="wide")

        assert (row.due_artifact_count, row.due_text_count) == (0, 0)

    def test_can_be_combined_with_missing(self, three, build):
        Node.objects.filter(artifact=three[0]).update(source_hash=None)
        Node.objects.filter(artifact=three[1]).update(state="failed")

        go_through(begin_regeneration(["chunk"], is_for_missing=True, is_for_stale=True))

        assert due_artifacts() == {three[0].pk, three[1].pk}


class TestClaim:
    def test_belongs_to_one_worker_at_a_time(self, three, build):
        row = begin_regeneration(["chunk"])

        assert claim_regeneration(row.pk) is not None
        assert claim_regeneration(row.pk) is None

    def test_can_be_taken_over_once_its_lease_has_expired(self, three, build):
        row = begin_regeneration(["chunk"])
        claim_regeneration(row.pk)
        Regeneration.objects.update(leased_until=timezone.now() - timezone.timedelta(seconds=1))

        assert claim_regeneration(row.pk) is not None

    def test_is_released_when_the_only_worker_restarts(self, three, build):
        row = begin_regeneration(["chunk"])
        claim_regeneration(row.pk)

        release_all_leases()

        assert claim_regeneration(row.pk) is not None

    def test_is_refused_for_a_finished_regeneration(self, build):
        row = go_through(begin_regeneration(["chunk"]))

        assert claim_regeneration(row.pk) is None


class TestResuming:
    @pytest.mark.parametrize("is_after", [False, True])
    def test_processes_each_artifact_once_after_a_worker_died(
        self, three, build, embedder, monkeypatch, is_after
    ):
        """The worker dies while it works on the second artifact, or right after."""
        advance, steps = job._advance, []

        def die(row, *args, **counts):
            steps.append(args)
            if len(steps) == 2 and not is_after:
                raise SystemExit
            advance(row, *args, **counts)
            if len(steps) == 2:
                raise SystemExit

        row = begin_regeneration(["chunk"])
        monkeypatch.setattr(job, "_advance", die)
        claimed = claim_regeneration(row.pk)
        with pytest.raises(SystemExit):
            regenerate_next_artifacts(claimed, DueWork())
        monkeypatch.setattr(job, "_advance", advance)
        release_all_leases()
        sync_all(build)
        gone_through = 1  # the transaction of the second is rolled back
        assert Regeneration.objects.get().done_count == gone_through
        assert len(embedder.embedded) == 3 + gone_through

        go_through(row)
        sync_all(build)

        assert (row.state, row.done_count, row.due_artifact_count, row.due_node_count) == (
            "done",
            3,
            3,
            3,
        )
        assert len(embedder.embedded) == 6

    def test_lets_no_worker_write_after_losing_its_claim(self, three, build, monkeypatch):
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        embed_again = job.reembed_nodes

        def overtake(nodes):
            Regeneration.objects.update(lease_token=uuid4())
            return embed_again(nodes)

        monkeypatch.setattr(job, "reembed_nodes", overtake)

        assert not regenerate_next_artifacts(claimed, DueWork())

        assert due_artifacts() == set()
        assert Regeneration.objects.get().done_count == 0

    def test_continues_after_an_outage_without_counting_an_attempt(self, three, build, monkeypatch):
        row = begin_regeneration(["chunk"])

        def refuse(*args):
            raise EmbeddingUnavailable("The model is away.")

        with monkeypatch.context() as patched:
            patched.setattr(job, "plan_nodes", refuse)
            for _ in range(9):
                claimed = claim_regeneration(row.pk)
                with pytest.raises(EmbeddingUnavailable):
                    regenerate_next_artifacts(claimed, DueWork())
        row.refresh_from_db()
        assert (row.state, row.last_error, row.attempts) == ("running", "The model is away.", 0)

        go_through(row)

        assert (row.state, row.last_error, row.due_artifact_count) == ("done", "", 3)

    def test_stops_between_two_artifacts_on_a_stop_request(self, three, build):
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)

        assert regenerate_next_artifacts(claimed, DueWork(), should_stop=lambda: True)

        row.refresh_from_db()
        assert row.done_count == 1


class TestPoison:
    def test_is_skipped_and_reported_after_its_attempts(self, three, build, monkeypatch, settings):
        poison = three[1].pk
        plan = plan_nodes
        tries = []

        def die_of_it(artifact_id, *args):
            tries.append(artifact_id)
            if artifact_id == poison:
                raise ZeroDivisionError("Nobody thought of this.")
            plan(artifact_id, *args)

        monkeypatch.setattr(job, "plan_nodes", die_of_it)
        row = begin_regeneration(["chunk"])

        for _ in range(settings.STRATA_MAX_ATTEMPTS):
            claimed = claim_regeneration(row.pk)
            with pytest.raises(ZeroDivisionError):
                regenerate_next_artifacts(claimed, DueWork())
        go_through(row)

        assert tries.count(poison) == settings.STRATA_MAX_ATTEMPTS
        assert (row.state, row.done_count, row.due_artifact_count, row.failed_count) == (
            "failed",
            3,
            2,
            1,
        )
        assert row.last_error == "ZeroDivisionError: Nobody thought of this."
        assert due_artifacts() == {three[0].pk, three[2].pk}

    def test_is_skipped_when_every_worker_dies(self, three, build, settings):
        row = begin_regeneration(["chunk"])
        for _ in range(settings.STRATA_MAX_ATTEMPTS):
            claim_regeneration(row.pk)
            release_all_leases()

        go_through(row)

        assert (row.failed_count, row.due_artifact_count) == (1, 2)
        assert row.last_error == "Its worker died at each attempt."


class TestCancelRegeneration:
    def test_makes_no_more_nodes_due(self, three, build, monkeypatch):
        monkeypatch.setattr(scope, "ROWS_PER_STEP", 1)
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        regenerate_next_artifacts(claimed, DueWork())

        cancel_regeneration(row)

        assert not regenerate_next_artifacts(claimed, DueWork())
        assert claim_regeneration(row.pk) is None
        assert due_artifacts() == {three[0].pk}
        assert (row.state, row.done_count) == ("cancelled", 1)
        assert row.finished_at is not None

    def test_undoes_the_artifact_in_progress(self, three, build, monkeypatch):
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        embed_again = job.reembed_nodes

        def cancel_before(nodes):
            cancel_regeneration(row)
            return embed_again(nodes)

        monkeypatch.setattr(job, "reembed_nodes", cancel_before)

        assert not regenerate_next_artifacts(claimed, DueWork())

        assert Regeneration.objects.get().done_count == 0

    def test_does_not_change_a_finished_regeneration(self, build):
        row = go_through(begin_regeneration(["chunk"]))

        cancel_regeneration(row)

        assert row.state == "done"


class TestGetRegeneration:
    def test_raises_an_error_for_an_unknown_id(self, build):
        with pytest.raises(UnknownRegeneration):
            get_regeneration(uuid4())


class TestRegenerationProgress:
    def test_counts_pending_nodes_of_processed_artifacts(self, three, build, monkeypatch):
        monkeypatch.setattr(scope, "ROWS_PER_STEP", 2)
        row = begin_regeneration(["chunk"])
        claimed = claim_regeneration(row.pk)
        regenerate_next_artifacts(claimed, DueWork())
        Node.objects.filter(artifact=three[1]).update(state="failed")
        Node.objects.filter(artifact=three[2]).update(state="pending")
        Regeneration.objects.update(started_at=F("started_at") - timezone.timedelta(seconds=20))

        progress = get_regeneration_progress(get_regeneration(row.pk))

        assert (progress.pending_count, progress.failed_count) == (1, 1)
        assert progress.artifacts_per_second == pytest.approx(0.1, rel=0.2)
        assert progress.eta_seconds == pytest.approx(10, rel=0.2)
        assert not progress.is_synced

    def test_counts_only_the_named_artifacts(self, three, build):
        row = begin_regeneration(["chunk"], artifact_ids=[three[0].pk, three[2].pk])
        go_through(row)
        Node.objects.filter(artifact=three[1]).update(state="pending")

        assert get_regeneration_progress(row).pending_count == 2

    def test_is_synced_once_none_of_its_nodes_is_pending(self, three, build):
        row = go_through(begin_regeneration(["chunk"], limit=2))
        assert not get_regeneration_progress(row).is_synced

        sync_all(build)
        Node.objects.filter(artifact=three[2]).update(state="pending")  # outside the regeneration

        assert get_regeneration_progress(row).is_synced
        assert get_regeneration_progress(row).eta_seconds is None

    def test_waits_for_texts_that_are_not_written_yet(self, wide):
        artifact = give(index="wide")
        write_all(wide, artifact)
        row = go_through(begin_regeneration(["summary"], index="wide"))
        sync_all(wide)

        assert get_regeneration_progress(row).awaited_count == 1
        assert not get_regeneration_progress(row).is_synced
        Summary.objects.of_pages().update(state="failed")
        Summary.objects.of_artifacts().update(state="written")
        assert get_regeneration_progress(row).is_synced
        assert get_regeneration_progress(row).refused_count == 1

    def test_shows_the_blocking_error(self, three, build):
        row = begin_regeneration(["chunk"], index="plain")
        Regeneration.objects.update(last_error="The model is away.")
        assert get_regeneration_progress(get_regeneration(row.pk)).problem == "The model is away."
        Regeneration.objects.update(last_error="")
        IndexBuild.objects.filter(pk=build.pk).update(problem="The store is away.")
        assert (
            get_regeneration_progress(get_regeneration(row.pk)).problem == ""
        )  # no node waits yet

        go_through(row)

        assert get_regeneration_progress(row).problem == "The store is away."

    def test_ignores_paused_builds(self, three, build):
        second = IndexBuild.objects.create(
            index=build.index, number=7, recipe=build.recipe, fingerprint="f", state="standby",
            paused_at=timezone.now(),
        )  # fmt: skip
        row = go_through(begin_regeneration(["chunk"]))
        assert Node.objects.filter(build=second, state="pending").count() == 3

        assert get_regeneration_progress(row).pending_count == 3

    def test_is_returned_as_json(self, three, build):
        row = go_through(begin_regeneration(["chunk"], index="plain", limit=2))

        told = get_regeneration_progress(row).as_json()

        assert told["artifacts"] == {
            "total": 2, "done": 2, "made_due": 2, "failed": 0, "awaited": 0, "refused": 0,
        }  # fmt: skip
        assert told["nodes"] == {"made_due": 2, "pending": 2, "failed": 0}
        assert (told["state"], told["index"], told["types"]) == ("done", "plain", ["chunk"])
