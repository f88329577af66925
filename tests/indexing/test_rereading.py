"""A new build reads documents anew; searches see what it has read once it is live."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.grants import EVERYTHING
from documents import parsing, reading
from documents.exceptions import ScannerUnavailable, Unparsable
from documents.models import Artifact, Page, Reading, Source
from documents.originals import save_incoming_file
from documents.reading import SET_BY_HAND, find_outdated_artifacts
from documents.services import remove_artifact, replace_content, update_artifact
from indexing import lifecycle, tasks
from indexing.catalog import LedgerIndexCatalog
from indexing.drafting import get_drafter
from indexing.estimates import estimate_build
from indexing.exceptions import UnchunkableText
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.removal import remove_artifact_points
from indexing.serializers import render_build
from indexing.services import DocumentPlanner, audit_documents, plan_nodes, read_next
from indexing.verification import verify_build
from retrieval.search.hit_checks import Verdict
from retrieval.source_context import read_source_context
from tests.factories import give, load_index, original_path, sync
from tests.rereading import NEW, OLD, NewerReader, add_file, finish
from tests.retrieval.search.asking import SearchRequest, search_chunks
from tests.written import make_build

pytestmark = pytest.mark.django_db

SAME = "Granite cools slowly under the ground. Its crystals have time to grow large."


@pytest.fixture
def documents(build) -> tuple[Artifact, Artifact]:
    """One that a newer reader reads otherwise, and one that it reads as before."""
    both = add_file(OLD, "heron.txt"), add_file(SAME, "granite.txt")
    sync(build, *both)
    return both


@pytest.fixture
def newer(documents, monkeypatch) -> NewerReader:
    """From now on files are read by it."""
    return NewerReader(monkeypatch)


@pytest.fixture
def begun(specs, newer) -> IndexBuild:
    return lifecycle.apply_spec("plain", rereads=True)


@pytest.fixture
def complete(begun) -> IndexBuild:
    """A build that has read both documents anew."""
    finish(begun)
    return begun


def ask(build: IndexBuild | str, query: str = "stands in the shallows") -> list[tuple[str, Any]]:
    answer = search_chunks(SearchRequest(indexes=[build], query=query, limit=1))
    assert not answer.dropped.integrity_errors
    return [(hit.payload["text"].split(".")[0], hit.verdict) for hit in answer.hits]


OLD_HITS = [("The her0n stands in the shallows at dawn", Verdict.EXACT)]
NEW_HITS = [("The heron stands in the shallows at dawn", Verdict.EXACT)]


def text_of(artifact: Artifact) -> str:
    [page], [source] = artifact.pages.all(), artifact.sources.all()
    assert source.text == page.text
    return page.text


def live() -> IndexBuild:
    return IndexBuild.objects.live().get(index="plain")


def document_of(build: IndexBuild, artifact: Artifact) -> IndexedDocument:
    return IndexedDocument.objects.get(build=build, artifact=artifact)


class TestOutdatedArtifacts:
    def test_are_none_while_the_readers_are_the_same(self, documents):
        assert documents[0].reader == "strata 2"
        assert find_outdated_artifacts("plain", 0) == []

    def test_are_those_of_a_release_that_did_not_name_readers(self, documents):
        Artifact.objects.filter(pk=documents[0].pk).update(reader="")

        assert find_outdated_artifacts("plain", 0) == [documents[0].pk]

    def test_are_those_of_another_version_of_a_reader(self, documents, newer):
        assert set(find_outdated_artifacts("plain", 0)) == {each.pk for each in documents}

    def test_are_no_texts_and_no_documents_whose_pages_people_may_have_edited(
        self, documents, newer
    ):
        give()
        Artifact.objects.filter(pk=documents[1].pk).update(reader=SET_BY_HAND)

        assert find_outdated_artifacts("plain", 0) == [documents[0].pk]

    def test_are_those_of_which_another_build_has_a_later_reading(self, complete, documents):
        """A new build would see it, whatever has read it."""
        Artifact.objects.update(reader="strata 3")

        assert find_outdated_artifacts("plain", 0) == [documents[0].pk]
        assert find_outdated_artifacts("plain", 1) == []

    @pytest.mark.parametrize(
        ("had_ocr", "has_ocr", "codes", "is_outdated"),
        [
            (False, True, ["scanned_page"], True),
            (False, True, ["no_text"], True),
            (False, True, [], False),
            (False, False, ["scanned_page"], False),
            (True, False, [], False),
            (True, False, ["no_text"], False),
        ],
    )
    def test_are_scans_if_ocr_was_installed_since(
        self, documents, monkeypatch, had_ocr, has_ocr, codes, is_outdated
    ):
        scan = documents[0]
        monkeypatch.setattr(parsing.ocr, "is_installed", lambda: had_ocr)
        scan.warnings = [{"code": code, "detail": ""} for code in codes]
        scan.reader = reading.name_reader(scan)
        scan.save()

        monkeypatch.setattr(parsing.ocr, "is_installed", lambda: has_ocr)

        assert find_outdated_artifacts("plain", 0) == [scan.pk] * is_outdated

    def test_are_scans_that_tesseract_would_read_in_other_languages(
        self, documents, specs, monkeypatch
    ):
        scan = documents[0]
        Artifact.objects.filter(pk=scan.pk).update(page_count=3)
        monkeypatch.setattr(parsing.ocr, "list_missing", lambda languages: [])
        specs("ocr_languages: [de]\n")
        load_index("plain")
        assert find_outdated_artifacts("plain", 0) == []

        specs("ocr_languages: [ru, en]\n")
        load_index("plain")
        assert find_outdated_artifacts("plain", 0) == [scan.pk]

        scan.refresh_from_db()
        scan.reader = reading.name_reader(scan)
        scan.save()
        assert scan.reader.endswith(" in ru, en")
        assert find_outdated_artifacts("plain", 0) == []
        monkeypatch.setattr(parsing.ocr, "list_missing", lambda languages: ["strata install ocr"])
        assert find_outdated_artifacts("plain", 0) == []
        monkeypatch.setattr(parsing.ocr, "list_missing", lambda languages: [])
        specs("ocr_languages: [el]\n")
        load_index("plain")
        assert find_outdated_artifacts("plain", 0) == [scan.pk]


class TestApplySpec:
    def test_makes_no_build_if_nothing_is_outdated(self, documents, specs, build):
        assert lifecycle.apply_spec("plain", rereads=True) == build

    def test_makes_none_without_a_change_of_the_recipe_unless_it_is_asked_to(
        self, newer, specs, build
    ):
        assert lifecycle.apply_spec("plain") == build

    def test_continues_the_build_that_reads_anew(self, begun):
        assert lifecycle.apply_spec("plain", rereads=True) == begun
        assert begun.reading == 1

    def test_reads_anew_in_a_build_of_a_new_recipe(self, newer, specs, documents):
        specs("chunks: {context: []}\n")

        begun = lifecycle.apply_spec("plain")

        unread = IndexedDocument.objects.unread(begun).values_list("artifact_id", flat=True)
        assert set(unread) == {each.pk for each in documents}

    def test_is_estimated_with_the_number_of_documents(self, newer, specs):
        estimate = estimate_build("plain")

        assert (estimate.is_free, estimate.outdated_count) == (True, 2)

    def test_is_printed_with_the_number_of_documents(self, newer, specs, capsys):
        call_command("plan", "plain")

        assert "strata apply plain --reread: 2" in " ".join(capsys.readouterr().out.split())

    def test_shows_how_many_are_left(self, begun):
        assert render_build(begun)["artifacts_unread"] == 2
        assert render_build(begun)["artifacts_missing"] == 2

        read_next(begun)

        assert render_build(begun)["artifacts_unread"] == 1


class TestNewBuild:
    def test_has_the_new_text_and_the_live_one_the_old(self, complete, build, documents):
        assert ask(complete) == NEW_HITS
        assert ask(build) == ask("plain") == OLD_HITS
        assert text_of(documents[0]) == OLD
        assert verify_build(build).findings == verify_build(complete).findings == {}

    def test_is_not_planned_again_by_an_audit(self, complete, build):
        assert audit_documents(build) == audit_documents(complete) == set()

    def test_plans_no_document_before_it_is_read(self, begun):
        assert not DocumentPlanner().plan_next(begun)
        assert not begun.nodes.exists()
        assert set(verify_build(begun).findings) == {"unparsed"}

    def test_has_no_rows_of_a_document_that_is_read_as_before(self, complete, build, documents):
        granite = documents[1]

        assert not Reading.objects.filter(artifact=granite).exists()
        assert Page.every_reading.filter(artifact=granite).count() == 1
        granite.refresh_from_db()
        assert granite.reader == "strata 3"

    def test_copies_the_vectors_of_a_text_that_did_not_change(self, begun, embedder):
        embedder.embedded.clear()

        finish(begun)

        assert [text for text in embedder.embedded if "Granite" in text] == []
        assert [text for text in embedder.embedded if "heron" in text] != []
        begun.refresh_from_db()
        assert begun.copied_count >= 1

    def test_leaves_title_and_metadata(self, complete, documents):
        lifecycle.promote_build(complete)

        assert Artifact.objects.get(pk=documents[0].pk).title == documents[0].title

    def test_leaves_other_indexes(self, documents, specs, monkeypatch):
        other = make_build("second")
        elsewhere = add_file("The her0n of another index.", "second.txt", index="second")
        sync(other, elsewhere)
        NewerReader(monkeypatch)

        begun = lifecycle.apply_spec("plain", rereads=True)
        finish(begun)
        lifecycle.promote_build(begun)

        assert text_of(elsewhere) == "The her0n of another index."
        assert not Reading.objects.filter(artifact__index="second").exists()

    def test_is_read_by_the_workers(self, begun):
        tasks.reconcile_indexes()

        assert not IndexedDocument.objects.unread(begun).exists()
        assert lifecycle.count_missing(begun) == 0


class TestPromotion:
    def test_shows_the_new_texts_and_a_rollback_the_old_ones(self, complete, build, documents):
        heron = documents[0]

        lifecycle.promote_build(complete)

        heron.refresh_from_db()
        assert (text_of(heron), heron.reader) == (NEW, "strata 3")
        assert ask("plain") == NEW_HITS
        assert ask(build) == OLD_HITS  # the standby
        assert find_outdated_artifacts("plain", live().reading) == []

        lifecycle.roll_back_index("plain")

        heron.refresh_from_db()
        assert (text_of(heron), heron.reader) == (OLD, "strata 2")
        assert ask("plain") == OLD_HITS
        assert ask(complete) == NEW_HITS
        for each in (build, complete):
            each.refresh_from_db()
            assert verify_build(each).findings == {}

    def test_changes_each_table_of_texts_by_one_statement(self, complete):
        with CaptureQueriesContext(connection) as captured:
            lifecycle.promote_build(complete)

        updates = [each["sql"] for each in captured if each["sql"].startswith("UPDATE")]
        changed = [re.split(r'["`]', sql)[1] for sql in updates]
        texts = [table for table in changed if table.startswith("documents_")]
        assert sorted(texts) == ["documents_artifact", "documents_page", "documents_source"]

    def test_of_a_build_with_the_same_readings_changes_no_texts(self, documents, specs):
        specs("chunks: {context: []}\n")
        other = lifecycle.apply_spec("plain")
        finish(other)

        with CaptureQueriesContext(connection) as captured:
            lifecycle.promote_build(other)

        assert not [each for each in captured if 'UPDATE "documents_page"' in each["sql"]]

    def test_leaves_sources_of_the_standby_build_readable(self, complete, documents):
        old = documents[0].sources.get()

        lifecycle.promote_build(complete)

        context = read_source_context(old.pk, EVERYTHING, window=2)
        assert (context.source.text, context.neighbours) == (OLD, [])
        new = documents[0].sources.get()
        assert read_source_context(new.pk, EVERYTHING, window=2).source.text == NEW

    def test_shows_the_warnings_of_the_new_reader(self, complete, documents):
        Reading.objects.filter(number=1).update(warnings=[{"code": "x", "detail": "y"}])

        lifecycle.promote_build(complete)

        assert Artifact.objects.get(pk=documents[0].pk).warnings == [{"code": "x", "detail": "y"}]

    def test_leaves_the_next_build_nothing_to_read(self, complete, specs):
        lifecycle.promote_build(complete)
        specs("chunks: {context: []}\n")

        following = lifecycle.apply_spec("plain")
        finish(following)

        assert following.reading == complete.reading
        assert ask(following) == NEW_HITS

    def test_of_a_build_after_a_rollback_compares_with_what_was_read_before(
        self, complete, specs, newer, documents
    ):
        lifecycle.promote_build(complete)
        lifecycle.roll_back_index("plain")
        specs("chunks: {context: []}\n")
        newer.read.clear()

        following = lifecycle.apply_spec("plain")
        finish(following)

        assert newer.read == ["heron.txt"]
        assert list(Reading.objects.values_list("number", flat=True).order_by("number")) == [0, 1]
        assert (ask(following), ask("plain")) == (NEW_HITS, OLD_HITS)

    def test_deletes_what_no_build_sees_any_longer(self, complete, documents):
        lifecycle.promote_build(complete)
        assert Source.every_reading.filter(artifact=documents[0]).count() == 2

        lifecycle.prune_builds("plain")
        lifecycle.remove_retired_builds(grace_seconds=0)

        assert Source.every_reading.get(artifact=documents[0]).text == NEW
        assert [each.number for each in Reading.objects.all()] == [1]
        assert ask("plain") == NEW_HITS
        assert verify_build(live()).findings == {}

    def test_a_cancelled_build_leaves_nothing(self, complete, documents):
        lifecycle.cancel_build(complete)
        lifecycle.remove_retired_builds(grace_seconds=0)

        assert Source.every_reading.get(artifact=documents[0]).text == OLD
        assert ask("plain") == OLD_HITS


class TestFailure:
    def test_keeps_the_previous_text_and_says_so(self, begun, newer, documents):
        newer.error = Unparsable("damaged_file", "The file is damaged.")

        finish(begun)

        assert ask(begun) == OLD_HITS
        assert lifecycle.count_missing(begun) == 0
        assert verify_build(begun).findings == {}
        assert render_build(begun)["artifacts_not_reread"] == 2
        lifecycle.promote_build(begun)
        progress = LedgerIndexCatalog().get_indexing_progress([documents[0].pk])
        [fault] = progress[documents[0].pk].warnings
        assert fault["code"] == "not_reread"
        assert "The file is damaged." in fault["detail"]

    def test_is_not_told_of_content_that_was_replaced_since(self, begun, newer, documents):
        newer.error = Unparsable("damaged_file", "The file is damaged.")
        finish(begun)
        lifecycle.promote_build(begun)
        newer.error = None

        replace_content(documents[0].pk, save_incoming_file("heron.txt", [b"A bittern."]))
        reading.parse_artifact(documents[0].pk)

        progress = LedgerIndexCatalog().get_indexing_progress([documents[0].pk])
        assert list(progress[documents[0].pk].warnings) == []

    def test_is_listed_by_the_command(self, begun, newer, capsys):
        call_command("builds", "plain")
        assert "plain #2: 2 documents to read anew; 0 could not be" in capsys.readouterr().out

    def test_of_the_original_keeps_the_text(self, begun, documents):
        original_path(documents[0]).unlink()

        finish(begun)

        assert ask(begun) == OLD_HITS
        assert "FileNotFoundError" in document_of(begun, documents[0]).reading_problem

    def test_of_a_service_is_tried_again(self, begun, newer):
        newer.error = ScannerUnavailable()

        with pytest.raises(ScannerUnavailable):
            read_next(begun)

        newer.error = None
        assert {each.attempts for each in IndexedDocument.objects.unread(begun)} == {0}
        finish(begun)
        assert ask(begun) == NEW_HITS

    def test_to_make_nodes_of_the_new_text_keeps_the_old_one(self, begun, documents, monkeypatch):
        drafter = type(get_drafter("chunk"))
        draft = drafter.draft

        def refuse(self, artifact, build):
            if any("heron" in source.text for source in artifact.sources.all()):
                raise UnchunkableText("It cannot be cut.")
            yield from draft(self, artifact, build)

        monkeypatch.setattr(drafter, "draft", refuse)

        finish(begun)

        assert ask(begun) == ask("plain") == OLD_HITS
        assert "cannot be cut" in document_of(begun, documents[0]).reading_problem
        assert Artifact.objects.get(pk=documents[0].pk).state == Artifact.State.PARSED
        assert Source.every_reading.filter(artifact=documents[0]).count() == 1

    def test_of_the_worker_is_tried_again_once_its_lease_ends(self, begun, newer, documents):
        class Killed(BaseException):
            pass

        def kill() -> None:
            raise Killed

        newer.before = kill
        with pytest.raises(Killed):
            read_next(begun)
        newer.before = lambda: None
        claimed = document_of(begun, documents[0])
        assert (claimed.attempts, claimed.is_unread) == (1, True)
        finish(begun)
        assert document_of(begun, documents[0]).is_unread  # its lease has not ended

        claims = IndexedDocument.objects.filter(pk=claimed.pk)
        claims.update(leased_until=timezone.now() - timedelta(seconds=1))
        finish(begun)

        assert ask(begun) == NEW_HITS

    def test_of_the_worker_at_each_attempt_keeps_the_previous_text(
        self, begun, documents, settings
    ):
        unread = IndexedDocument.objects.unread(begun)
        unread.update(attempts=settings.STRATA_MAX_ATTEMPTS)

        finish(begun)

        assert ask(begun) == OLD_HITS
        assert document_of(begun, documents[0]).reading_problem


class TestChangeMeanwhile:
    def test_of_the_content_is_in_all_builds(self, complete, build, documents, newer):
        content = save_incoming_file("heron.txt", [b"A her0n stands in the shallows by noon."])
        replace_content(documents[0].pk, content)
        reading.parse_artifact(documents[0].pk)
        finish(build)
        finish(complete)

        hits = [("A heron stands in the shallows by noon", Verdict.EXACT)]
        assert ask("plain") == ask(complete) == hits
        assert not Reading.objects.exists()
        for model in (Page, Source):
            assert model.every_reading.filter(artifact=documents[0]).count() == 1
        assert verify_build(build).findings == verify_build(complete).findings == {}

    def test_of_the_content_after_a_promotion_is_in_all_builds(self, complete, documents, build):
        lifecycle.promote_build(complete)
        content = save_incoming_file("heron.txt", [b"A her0n stands in the shallows by noon."])
        replace_content(documents[0].pk, content)
        reading.parse_artifact(documents[0].pk)
        finish(build)
        finish(complete)

        hits = [("A heron stands in the shallows by noon", Verdict.EXACT)]
        assert ask("plain") == ask(build) == hits
        lifecycle.roll_back_index("plain")
        assert ask("plain") == hits

    def test_of_the_content_while_it_is_read_is_not_overwritten(self, begun, documents, newer):
        content = save_incoming_file("heron.txt", [b"A bittern stands in the shallows."])

        def replace() -> None:
            newer.before = lambda: None
            replace_content(documents[0].pk, content)

        newer.before = replace
        read_next(begun)
        assert not Reading.objects.exists()
        reading.parse_artifact(documents[0].pk)
        finish(begun)

        assert ask(begun) == [("A bittern stands in the shallows", Verdict.EXACT)]

    def test_of_the_title_leaves_it_unread(self, begun, documents):
        update_artifact(documents[0].pk, title="Birds")

        finish(begun)

        assert ask(begun) == NEW_HITS
        assert Node.objects.filter(build=begun, attributes_hash="").count() == 0

    def test_deletion_of_an_unread_document_is_complete_at_once(self, begun, documents):
        revision = remove_artifact(documents[0].pk)

        receipt = remove_artifact_points({documents[0].pk: revision}, "plain")

        assert receipt.is_complete
        assert not IndexedDocument.objects.filter(artifact=documents[0].pk).exists()

    def test_in_the_points_is_not_repaired_before_it_is_read(self, begun, documents):
        plan_nodes(documents[0].pk, begun)

        assert document_of(begun, documents[0]).is_unread
        assert not begun.nodes.exists()

    def test_deletion_deletes_all_readings(self, complete, documents, build):
        documents[0].delete()
        finish(complete)
        finish(build)

        assert not Page.every_reading.filter(artifact=documents[0].pk).exists()
        assert verify_build(build).findings == verify_build(complete).findings == {}
