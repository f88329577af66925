from uuid import uuid4

import pytest
from django.utils import timezone

from core.exceptions import InvalidInput, UnknownIndex
from core.leases import release_all_leases
from documents.models import Artifact, Source
from indexing import regeneration
from indexing.exceptions import EmbeddingUnavailable
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.regeneration import Regeneration, regenerate
from indexing.services import DocumentPlanner, plan_nodes, planning, sync_nodes
from indexing.stores import get_store
from summaries import services as summaries
from summaries.models import Annotation, Summary
from summaries.services import hash_inputs
from tests.factories import give, sync
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db

TYPES = [
    "chunk",
    "compound",
    "concept",
    "image",
    "question",
    "relationship",
    "summary",
    "vocabulary",
]


def go_through(types, **given) -> Regeneration:
    """Make documents due, and plan them as workers do."""
    made = regenerate(types, **given)
    plan_all()
    return made


def plan_all() -> None:
    for build in IndexBuild.objects.not_paused():
        planner = DocumentPlanner()
        while planner.plan_next(build):
            pass


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


class TestRegenerate:
    def test_counts_what_it_makes_due(self, three):
        def count(**given) -> int:
            made = regenerate(["chunk"], **given)
            assert made.examined_count == made.due_count == made.node_count
            return made.due_count

        assert count(index="plain") == 3
        assert count() == 3
        assert count(offset=2) == 1
        assert count(limit=2, offset=2) == 1
        assert count(offset=5) == 0
        assert count(artifact_ids=[three[0].pk]) == 1

    def test_costs_nothing_more_if_it_is_repeated_before_planning(self, three, build, embedder):
        regenerate(["chunk"])
        embedder.embedded.clear()

        go_through(["chunk"])
        sync_all(build)

        assert len(embedder.embedded) == 3

    def test_adds_to_the_kinds_of_an_earlier_request(self, wide):
        write_all(wide, give(index="wide"))
        regenerate(["question"], index="wide")

        go_through(["summary"], index="wide")

        pending = set(Node.objects.filter(state="pending").values_list("kind", flat=True))
        assert pending == {"question", "page_summary", "artifact_summary"}

    def test_makes_all_due_or_nothing(self, three, build, monkeypatch):
        monkeypatch.setattr(regeneration, "ROWS_PER_STATEMENT", 1)
        make_due, calls = regeneration.regenerate_documents, []

        def die(*args):
            calls.append(args)
            if len(calls) == 2:
                raise SystemExit
            make_due(*args)

        monkeypatch.setattr(regeneration, "regenerate_documents", die)
        with pytest.raises(SystemExit):
            regenerate(["chunk"])

        assert not IndexedDocument.objects.due(build).exists()
        assert not IndexedDocument.objects.exclude(kinds_to_regenerate=[]).exists()

    def test_treats_all_as_every_type(self, build):
        assert regenerate(["all"]).types == TYPES

    def test_treats_sources_as_chunks(self, build):
        assert regenerate(["source"]).types == ["chunk"]

    def test_names_the_available_types(self, build):
        with pytest.raises(InvalidInput) as raised:
            regenerate(["idea"])

        assert raised.value.field == "type"
        assert raised.value.allowed == sorted(["all", *TYPES])

    def test_refuses_a_type_that_the_index_does_not_have(self, build):
        with pytest.raises(InvalidInput, match="plain has no nodes of type 'summary'") as raised:
            regenerate(["summary"], index="plain")

        assert raised.value.allowed == ["all", "chunk"]

    def test_names_the_existing_indexes(self, build):
        with pytest.raises(UnknownIndex) as raised:
            regenerate(["chunk"], index="nil")

        assert "plain" in raised.value.allowed

    def test_limits_the_number_of_named_artifacts(self, build, monkeypatch):
        monkeypatch.setattr("indexing.regeneration.MAX_NAMED_ARTIFACTS", 2)
        regenerate(["chunk"], artifact_ids=[uuid4(), uuid4()])

        with pytest.raises(InvalidInput, match="not 3"):
            regenerate(["chunk"], artifact_ids=[uuid4() for _ in range(3)])


class TestRegenerateChunks:
    def test_cuts_and_embeds_every_chunk_again(self, three, build, embedder):
        embedder.embedded.clear()

        go_through(["chunk"], index="plain")
        sync_all(build)

        assert len(embedder.embedded) == 3
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()

    def test_replans_chunks_that_are_now_cut_differently(self, three, build):
        Node.objects.filter(artifact=three[0]).update(text="Cut by another version", text_hash="x")

        go_through(["chunk"])

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

        regenerate(["chunk"])
        for each in (build, second):  # the first is synced before the second is planned
            DocumentPlanner().plan_next(each)
            sync_all(each)

        assert len(embedder.embedded) == 3  # and no earlier vector was copied
        assert Node.objects.get(build=third).state == "synced"

    def test_ignores_documents_of_other_indexes(self, three, build):
        other = make_build("other")
        elsewhere = give("One heron.", index="other")
        sync(other, elsewhere)

        go_through(["chunk"], index="other")

        assert due_artifacts() == {elsewhere.pk}

    def test_makes_nothing_due_without_documents(self, build):
        assert go_through(["all"]).due_count == 0

    def test_skips_documents_removed_meanwhile(self, three, build):
        regenerate(["chunk"])
        removed = three[1].pk
        three[1].delete()

        plan_all()

        assert due_artifacts() == {three[0].pk, three[2].pk}
        assert Node.objects.get(artifact=removed).state == "deleting"


class TestLimitAndOffset:
    @pytest.mark.parametrize(
        ("limit", "offset", "meant"),
        [(None, 0, [0, 1, 2]), (2, 0, [0, 1]), (1, 1, [1]), (None, 2, [2]), (5, 1, [1, 2])],
    )
    @pytest.mark.parametrize("slice_size", [1, 100])
    def test_count_artifacts_in_the_order_of_their_ids(
        self, three, build, monkeypatch, limit, offset, meant, slice_size
    ):
        monkeypatch.setattr(regeneration, "ROWS_PER_STATEMENT", slice_size)

        made = go_through(["chunk"], limit=limit, offset=offset)

        assert due_artifacts() == {three[place].pk for place in meant}
        assert made.due_count == len(meant)

    def test_apply_to_named_artifacts_too(self, three, build):
        named = [artifact.pk for artifact in three]

        go_through(["chunk"], artifact_ids=named, limit=1, offset=1)

        assert due_artifacts() == {three[1].pk}


class TestRegenerateSummaries:
    def test_writes_and_embeds_them_again(self, wide):
        artifact = give(index="wide")
        write_all(wide, artifact)

        made = go_through(["summary"], index="wide")

        due = Summary.objects.filter(state="due", is_cache_bypassed=True)
        assert due.count() == Summary.objects.count() == made.node_count == 2
        waiting = IndexedDocument.objects.get(artifact=artifact).unwritten_kinds
        assert set(waiting) == {"page_summary", "artifact_summary"}
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

        go_through(["summary"], index="wide")
        sync_all(wide)

        by_hand.refresh_from_db()
        assert (by_hand.state, by_hand.is_by_hand) == ("written", True)
        assert any("What a person wrote." in text for text in embedder.embedded)

    def test_requests_no_text_about_an_empty_page(self, wide):
        artifact = give("\f", index="wide")
        summaries.plan_written_texts(artifact.pk, wide)
        Summary.objects.of_artifacts().update(state="written", written_input_hash=hash_inputs([]))

        go_through(["summary"], index="wide")

        assert not Summary.objects.filter(state="due").exists()
        assert due_artifacts() == set()


class TestRegenerateQuestions:
    def test_writes_and_embeds_them_again(self, wide):
        write_all(wide, give(index="wide"))

        made = go_through(["question"], index="wide")

        assert Annotation.objects.filter(state="due").exists()
        assert not Annotation.objects.exclude(state="due").exists()
        pending = Node.objects.filter(state="pending")
        assert set(pending.values_list("kind", flat=True)) == {"question"}
        assert made.node_count == pending.count() == Node.objects.filter(kind="question").count()
        assert not Summary.objects.filter(state="due").exists()


class TestOnlyMissing:
    def begin(self, types=("chunk",), **given) -> Regeneration:
        return go_through(types, is_for_missing=True, **given)

    def test_skips_complete_documents(self, three, build, embedder):
        embedder.embedded.clear()

        made = self.begin()

        assert (made.examined_count, made.due_count, made.node_count) == (3, 0, 0)
        assert due_artifacts() == set()

    @pytest.mark.parametrize("slice_size", [1, 100])
    def test_counts_only_regenerated_documents_against_the_limit(
        self, three, build, monkeypatch, slice_size
    ):
        monkeypatch.setattr(regeneration, "ROWS_EXAMINED", slice_size)
        Node.objects.filter(artifact__in=three[1:]).delete()

        made = self.begin(limit=1)

        assert (made.examined_count, made.due_count) == (2, 1)
        assert due_artifacts() == {three[1].pk}

    def test_plans_documents_without_nodes(self, three, build):
        Node.objects.filter(artifact=three[1]).delete()

        made = self.begin()

        assert due_artifacts() == {three[1].pk}
        assert made.due_count == 1

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

        made = self.begin()
        sync_all(build)

        assert (made.due_count, made.node_count) == (1, 1)
        assert len(embedder.embedded) == 1
        points = get_store().retrieve(build.collection("chunk"), [lost.point_id])
        assert points[lost.point_id].payload["text"] == lost.text

    def test_examines_every_node_of_a_large_document(self, build, monkeypatch):
        monkeypatch.setattr(regeneration, "ROWS_PER_STATEMENT", 2)
        text = "\n\n".join(f"Paragraph {n} on herons. " * 20 for n in range(7))
        sync(build, give(text))
        assert Node.objects.count() > 4
        get_store().drop_collection(build.collection("chunk"))

        made = self.begin()

        assert made.node_count == Node.objects.filter(state="pending").count()
        assert made.node_count == Node.objects.count()

    def test_retries_only_refused_texts(self, wide):
        refused, written = give("One heron waits.", index="wide"), give("A ledger.", index="wide")
        write_all(wide, refused, written)
        Annotation.objects.filter(artifact=refused).update(state="failed", is_by_hand=True)
        Summary.objects.of_artifacts().filter(artifact=refused).update(state="failed")

        made = self.begin(("all",), index="wide")

        assert made.due_count == 1
        assert set(Annotation.objects.filter(state="due").values_list("artifact")) == {
            (refused.pk,)
        }
        assert Summary.objects.get(state="due").kind == "artifact_summary"
        assert not Summary.objects.filter(is_cache_bypassed=True).exists()


class TestStale:
    def begin(self, types=("chunk",), **given) -> Regeneration:
        return go_through(types, is_for_stale=True, **given)

    def test_skips_unchanged_documents(self, three, build):
        made = self.begin()

        assert (made.examined_count, made.due_count) == (3, 0)

    @pytest.mark.parametrize("name", ["text_hash", "source_hash"])
    def test_hashes_old_rows_without_embedding_them(self, three, build, embedder, name):
        hashes = Node.objects.get(artifact=three[0])
        Node.objects.filter(artifact=three[0]).update(**{name: None})
        embedder.embedded.clear()

        made = self.begin()
        sync_all(build)

        assert made.due_count == 1
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

        made = self.begin()

        assert due_artifacts() == {three[1].pk}
        assert made.due_count == 1
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

        made = self.begin(("all",), index="wide")

        assert made.due_count == 0
        assert not Summary.objects.filter(state="due").exists()
        assert not Annotation.objects.filter(state="due").exists()

    def test_can_be_combined_with_missing(self, three, build):
        Node.objects.filter(artifact=three[0]).update(source_hash=None)
        Node.objects.filter(artifact=three[1]).update(state="failed")

        go_through(["chunk"], is_for_missing=True, is_for_stale=True)

        assert due_artifacts() == {three[0].pk, three[1].pk}


class TestPlanning:
    @pytest.mark.parametrize("is_after", [False, True])
    def test_embeds_each_node_once_after_a_worker_died(
        self, three, build, embedder, monkeypatch, is_after
    ):
        """The worker dies while it writes the second document, or right after."""
        monkeypatch.setattr(planning, "DOCUMENTS_PER_CLAIM", 1)
        write, steps = planning._write_parts, []

        def die(*args):
            steps.append(args)
            if len(steps) == 2 and not is_after:
                raise SystemExit
            written = write(*args)
            if len(steps) == 2:
                raise SystemExit
            return written

        with monkeypatch.context() as patched:
            patched.setattr(planning, "_write_parts", die)
            with pytest.raises(SystemExit):
                go_through(["chunk"])
        release_all_leases()
        sync_all(build)
        assert len(embedder.embedded) == 3 + (2 if is_after else 1)

        plan_all()
        sync_all(build)

        assert len(embedder.embedded) == 6
        assert not Node.objects.exclude(state="synced").exists()

    def test_embeds_each_node_of_a_large_document_once_after_a_worker_died(
        self, build, embedder, monkeypatch
    ):
        """The worker dies between two parts of the document, and what it wrote is synced."""
        monkeypatch.setattr(planning, "DRAFTS_PER_PART", 2)
        sync(build, give("\n\n".join(f"Paragraph {n} on herons. " * 20 for n in range(7))))
        count = Node.objects.count()
        assert count > 4
        embedder.embedded.clear()
        regenerate(["chunk"])
        DocumentPlanner().plan_next(build)
        assert IndexedDocument.objects.due(build).exists()
        release_all_leases()
        sync_all(build)

        plan_all()
        sync_all(build)

        assert len(embedder.embedded) == count
        assert not Node.objects.exclude(state="synced").exists()

    def test_takes_changed_documents_first(self, three, build, monkeypatch):
        monkeypatch.setattr(planning, "DOCUMENTS_PER_CLAIM", 1)
        regenerate(["chunk"])
        added = give("A stork waits.")

        DocumentPlanner().plan_next(build)

        assert due_artifacts() == {added.pk}

    def test_obeys_a_request_that_comes_meanwhile(self, three, build, embedder, monkeypatch):
        write = planning._write_parts

        def be_overtaken(*args):
            monkeypatch.setattr(planning, "_write_parts", write)
            regenerate(["chunk"])
            return write(*args)

        monkeypatch.setattr(planning, "_write_parts", be_overtaken)
        embedder.embedded.clear()

        go_through(["chunk"], limit=1)
        sync_all(build)

        assert len(embedder.embedded) == 3

    def test_keeps_a_request_that_could_not_be_written(self, three, build, monkeypatch):
        """The transaction of a part fails after the request was read."""
        count_nodes = planning.write_rows

        def fail(*args, **kwargs):
            monkeypatch.setattr(planning, "write_rows", count_nodes)
            raise ZeroDivisionError

        monkeypatch.setattr(planning, "write_rows", fail)

        go_through(["chunk"])

        assert due_artifacts() == {each.pk for each in three}

    def test_continues_after_an_outage_without_counting_an_attempt(self, three, build, monkeypatch):
        def refuse(*args):
            raise EmbeddingUnavailable("The model is away.")

        regenerate(["chunk"])
        with monkeypatch.context() as patched:
            patched.setattr(planning, "draft_rows", refuse)
            for _ in range(9):
                with pytest.raises(EmbeddingUnavailable):
                    DocumentPlanner().plan_next(build)
        assert set(IndexedDocument.objects.values_list("state", "attempts")) == {("due", 0)}

        plan_all()

        assert due_artifacts() == {each.pk for each in three}

    def test_gives_up_only_the_document_that_cannot_be_planned(
        self, three, build, monkeypatch, settings
    ):
        draft, poison = planning.draft_rows, three[1].pk

        def fail_for_one(artifact, *args):
            if artifact.pk == poison:
                raise ZeroDivisionError("Nobody thought of this.")
            return draft(artifact, *args)

        def fail_later(artifact, *args):
            yield from fail_for_one(artifact, *args)

        monkeypatch.setattr(planning, "draft_rows", fail_later)

        go_through(["chunk"])

        failed = IndexedDocument.objects.get(state="failed")
        assert failed.artifact_id == poison
        assert failed.attempts == settings.STRATA_MAX_ATTEMPTS
        assert failed.last_error == "ZeroDivisionError: Nobody thought of this."
        assert due_artifacts() == {three[0].pk, three[2].pk}

    def test_leaves_the_documents_of_a_paused_build_until_it_is_resumed(self, three, build):
        second = IndexBuild.objects.create(
            index=build.index, number=7, recipe=build.recipe, fingerprint="f", state="standby",
        )  # fmt: skip
        sync(second, *three)
        IndexBuild.objects.filter(pk=second.pk).update(paused_at=timezone.now())

        go_through(["chunk"])
        assert not Node.objects.filter(build=second, state="pending").exists()
        IndexBuild.objects.filter(pk=second.pk).update(paused_at=None)
        plan_all()

        assert Node.objects.filter(build=second, state="pending").count() == 3

    def test_keeps_the_old_points_until_new_ones_are_written(self, three, build):
        go_through(["chunk"])

        assert get_store().count(build.collection("chunk")) == 3
