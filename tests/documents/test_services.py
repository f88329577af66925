import uuid
from pathlib import Path
from typing import Any

import pytest

from core.exceptions import DiskFull, InvalidInput
from core.leases import release_all_leases
from core.text import hash_text
from documents import reading, services
from documents.exceptions import (
    ContentConflict,
    OriginalsUnavailable,
    UnknownArtifact,
    Unparsable,
)
from documents.identity import Found
from documents.index_catalog import get_catalog
from documents.models import Artifact, Page, Source
from documents.originals import FileContent, save_incoming_file
from documents.pages import replace_pages
from documents.parsing import ParsedDocument, ParsedPage, ParseWarning
from documents.services import AddOutcome, TextContent, add_artifact
from tests.factories import original_path

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def files(settings, tmp_path) -> Path:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return settings.STRATA_FILES_DIR


@pytest.fixture
def parsed(monkeypatch) -> dict[str, Any]:
    """File name -> result of the fake parser; an exception is raised."""
    found: dict[str, Any] = {}

    def parse_file(path: Path, *, file_name: str, **options: object) -> ParsedDocument:
        result = found[file_name]
        if callable(result):
            result = result()
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(reading, "parse_file", parse_file)
    return found


def document(*texts: str, **given: Any) -> ParsedDocument:
    return ParsedDocument(
        pages=tuple(ParsedPage(text) for text in texts),
        media_type=given.pop("media_type", "text/markdown"),
        **given,
    )


def text(*pages: str) -> TextContent:
    return TextContent(pages)


def file(content: bytes = b"Herons wait.", name: str = "herons.md") -> FileContent:
    return save_incoming_file(name, [content])


def kept(files: Path) -> set[str]:
    return {path.name for path in files.rglob("*") if path.is_file()}


class TestOriginals:
    """The folder of originals holds exactly the files of the artifacts."""

    @pytest.mark.django_db(transaction=True)
    def test_are_not_shared_by_artifacts(self, files):
        one, _ = add_artifact("notes", file(), external_id="one")
        other, _ = add_artifact("notes", file(), external_id="other")

        services.remove_artifact(one.pk)

        assert original_path(other).read_bytes() == b"Herons wait."
        assert kept(files) == {original_path(other).name}

    @pytest.mark.django_db(transaction=True)
    def test_of_an_earlier_revision_are_deleted(self, files):
        add_artifact("notes", file(b"First."), external_id="one")

        artifact, _ = add_artifact("notes", file(b"Second."), external_id="one")

        assert kept(files) == {original_path(artifact).name}

    @pytest.mark.django_db(transaction=True)
    def test_added_again_leave_no_second_copy(self, files):
        artifact, _ = add_artifact("notes", file())

        assert add_artifact("notes", file())[1] == AddOutcome.UNCHANGED

        assert kept(files) == {original_path(artifact).name}

    @pytest.mark.django_db(transaction=True)
    def test_with_another_suffix_are_another_document(self):
        _, first = add_artifact("notes", file(name="herons.md"))
        _, second = add_artifact("notes", file(name="herons.txt"))

        assert (first, second) == (AddOutcome.ADDED, AddOutcome.ADDED)


class TestTextContent:
    def test_has_one_hash_for_composed_and_decomposed_characters(self):
        assert text("e\u0301").sha256 == text("é").sha256

    def test_distinguishes_one_page_from_two(self):
        assert text("a", "b").sha256 != text("ab").sha256

    def test_counts_bytes_of_lone_surrogates(self):
        assert text("\ud800").byte_count == 3


class TestAddArtifact:
    def test_adds_a_text_with_its_pages_and_sources(self):
        artifact, verdict = add_artifact("plain", text("One.", "Two."), title="Numbers")

        assert verdict == AddOutcome.ADDED
        assert artifact.state == Artifact.State.PARSED
        pages = list(artifact.pages.values_list("index", "text"))
        assert pages == [(0, "One."), (1, "Two.")]
        for source in artifact.sources.select_related("page"):
            assert source.page.text[source.start : source.end] == source.text
            assert source.content_hash == hash_text(source.text)

    def test_leaves_a_file_for_parsing(self):
        artifact, _ = add_artifact("plain", file())

        assert artifact.state == Artifact.State.RECEIVED
        assert (artifact.title, artifact.has_user_title) == ("herons", False)

    @pytest.mark.parametrize("given", [{}, {"external_id": "b1"}])
    @pytest.mark.parametrize("content", [lambda: text("One."), file])
    def test_changes_nothing_the_second_time(self, content, given):
        first, _ = add_artifact("plain", content(), **given)

        again, verdict = add_artifact("plain", content(), **given)

        assert verdict == AddOutcome.UNCHANGED
        assert again.pk == first.pk
        assert Artifact.objects.get().updated_at == first.updated_at

    def test_adds_the_same_text_to_two_indexes(self):
        assert add_artifact("plain", text("One."))[1] == AddOutcome.ADDED
        assert add_artifact("library", text("One."))[1] == AddOutcome.ADDED

    def test_revises_the_artifact_with_the_same_external_id(self):
        first, _ = add_artifact("plain", text("One.", "Two."), external_id="b1")
        second, verdict = add_artifact("plain", text("One."), external_id="b1")

        assert verdict == AddOutcome.REVISED
        assert second.pk == first.pk
        assert second.revision > first.revision
        assert [page.text for page in second.pages.all()] == ["One."]

    def test_saves_a_new_title_as_a_new_revision(self):
        first, _ = add_artifact("plain", text("One."), external_id="b1", title="Old")

        artifact, verdict = add_artifact("plain", text("One."), external_id="b1", title="New")

        artifact.refresh_from_db()
        assert (verdict, artifact.title) == (AddOutcome.UNCHANGED, "New")
        assert artifact.revision > first.revision

    def test_distinguishes_texts_that_differ_only_in_title(self):
        add_artifact("plain", text("Minutes."), title="May")

        assert add_artifact("plain", text("Minutes."), title="June")[1] == AddOutcome.ADDED

    def test_treats_an_empty_title_as_no_title(self):
        add_artifact("plain", text("One."))

        assert add_artifact("plain", text("One."), title="")[1] == AddOutcome.UNCHANGED

    def test_warns_of_a_text_without_text(self):
        artifact, _ = add_artifact("plain", text(" \n"))

        assert [warning["code"] for warning in artifact.warnings] == ["no_text"]

    @pytest.mark.parametrize("is_revision", [False, True])
    def test_retries_if_another_process_was_first(self, monkeypatch, is_revision):
        """Two at once: the second call of the loser finds the winner's row."""
        winner, _ = add_artifact("plain", text("One."), external_id="b1")
        looks: list[Found] = []
        blind = Found(None, {"external_id": "b1", "identity": winner.identity})
        find_existing = services.find_existing

        def blind_at_first(*args: Any, **given: Any) -> Found:
            looks.append(find_existing(*args, **given) if looks else blind)
            return looks[-1]

        monkeypatch.setattr(services, "find_existing", blind_at_first)

        content = text("Two.") if is_revision else text("One.")
        loser, verdict = add_artifact("plain", content, external_id="b1")

        assert len(looks) == 2
        assert loser.pk == winner.pk == Artifact.objects.get().pk
        assert verdict == (AddOutcome.REVISED if is_revision else AddOutcome.UNCHANGED)

    def test_stores_nothing_if_the_metadata_is_wrong(self, monkeypatch):
        def refuse(index: str, metadata: dict[str, Any]) -> dict[str, Any]:
            raise InvalidInput(field="metadata.year")

        monkeypatch.setattr(get_catalog(), "clean_metadata", refuse)

        with pytest.raises(InvalidInput):
            add_artifact("plain", text("One."), metadata={"year": "x"})

        assert not Artifact.objects.exists()

    def test_stores_nothing_if_the_disk_is_full(self, settings):
        settings.STRATA_MIN_FREE_BYTES = 2**60

        with pytest.raises(DiskFull):
            add_artifact("plain", text("One."))

        assert not Artifact.objects.exists()


class TestSourceOverlap:
    def test_repeats_the_end_of_the_previous_source(self, settings):
        settings.STRATA_SOURCE_OVERLAP_WORDS = 30
        words = " ".join(f"Sentence number {n} has these six words." for n in range(400))

        artifact, _ = add_artifact("plain", TextContent((words,)))

        first, second = artifact.sources.order_by("ordinal")
        assert first.start == 0
        assert second.start < first.end < second.end == len(words)
        for source in (first, second):
            assert source.text == words[source.start : source.end]


class TestReplaceContent:
    def test_makes_a_new_revision(self):
        artifact, _ = add_artifact("plain", text("One."), title="Numbers")

        revised, verdict = services.replace_content(artifact.pk, text("Two."))

        assert (verdict, revised.title) == (AddOutcome.REVISED, "Numbers")
        assert revised.revision > artifact.revision

    def test_identifies_the_artifact_by_its_new_content(self):
        artifact, _ = add_artifact("plain", text("One."))
        services.replace_content(artifact.pk, text("Two."))

        assert add_artifact("plain", text("Two."))[0].pk == artifact.pk
        assert add_artifact("plain", text("One."))[1] == AddOutcome.ADDED

    def test_refuses_content_that_identifies_another_artifact(self):
        artifact, _ = add_artifact("plain", text("One."))
        add_artifact("plain", text("Two."))

        with pytest.raises(ContentConflict):
            services.replace_content(artifact.pk, text("Two."))

    def test_keeps_the_ids_of_unchanged_pages_and_sources(self):
        artifact, _ = add_artifact("plain", text("One.", "Two.", "Three."))
        pages = dict(Page.objects.values_list("index", "id"))
        sources = dict(Source.objects.values_list("text", "id"))

        services.replace_content(artifact.pk, text("One.", "2.", "Three.", "Four."))

        assert pages.items() <= dict(Page.objects.values_list("index", "id")).items()
        now = dict(Source.objects.values_list("text", "id"))
        assert {name: now.get(name) for name in ("One.", "Three.")} == {
            name: sources[name] for name in ("One.", "Three.")
        }
        assert "Two." not in now

    def test_lets_sources_swap_places(self):
        artifact, _ = add_artifact("plain", text("One.", "Two."))
        sources = dict(Source.objects.values_list("text", "id"))

        services.replace_content(artifact.pk, text("Two.", "One."))

        assert dict(Source.objects.values_list("text", "id")) == sources
        assert list(Source.objects.values_list("text", "ordinal")) == [("Two.", 0), ("One.", 1)]

    def test_keeps_a_file_that_is_given_again_before_its_deletion(
        self, files, django_capture_on_commit_callbacks
    ):
        first, second = b"Herons wait.", b"Herons fly."
        artifact, _ = add_artifact("plain", file(first), external_id="herons")
        with django_capture_on_commit_callbacks() as late:
            services.replace_content(artifact.pk, file(second))
        with django_capture_on_commit_callbacks(execute=True):
            services.replace_content(artifact.pk, file(first))
        for callback in late:
            callback()

        artifact.refresh_from_db()
        assert original_path(artifact).read_bytes() == first
        assert kept(files) == {original_path(artifact).name}


class TestUpdateArtifact:
    def test_changes_only_the_given_fields(self):
        artifact, _ = add_artifact(
            "plain", text("One."), title="Old", metadata={"a": 1}, url="https://example.org"
        )

        relabelled = services.update_artifact(artifact.pk, metadata={"b": 2})

        assert (relabelled.title, relabelled.metadata) == ("Old", {"b": 2})
        assert relabelled.url == "https://example.org"
        assert relabelled.revision > artifact.revision

    def test_keeps_the_revision_if_nothing_changes(self):
        artifact, _ = add_artifact("plain", text("One."), title="Old")

        relabelled = services.update_artifact(artifact.pk, title="Old")

        assert relabelled.revision == artifact.revision


class TestRemoveArtifact:
    def test_deletes_pages_sources_and_original(self, files, django_capture_on_commit_callbacks):
        artifact, _ = add_artifact("plain", file())
        replace_pages(artifact, [ParsedPage(text="One.", label="")])

        with django_capture_on_commit_callbacks(execute=True):
            services.remove_artifact(artifact.pk)

        assert not Page.objects.exists()
        assert not Source.objects.exists()
        assert kept(files) == set()

    def test_keeps_the_original_of_another_index(self, files, django_capture_on_commit_callbacks):
        artifact, _ = add_artifact("plain", file())
        add_artifact("library", file())

        with django_capture_on_commit_callbacks(execute=True):
            services.remove_artifact(artifact.pk)

        assert len(kept(files)) == 1

    def test_raises_an_error_for_an_unknown_artifact(self):
        with pytest.raises(UnknownArtifact):
            services.remove_artifact(uuid.uuid4())


class TestParseArtifact:
    def test_reads_pages_warnings_and_title(self, parsed):
        parsed["herons.md"] = document(
            "One.",
            "Two.",
            title="Herons",
            encoding="utf-8",
            warnings=(ParseWarning("cut", "Something was cut."),),
        )
        artifact, _ = add_artifact("plain", file())

        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.PARSED
        assert (artifact.title, artifact.encoding) == ("Herons", "utf-8")
        assert artifact.warnings == [{"code": "cut", "detail": "Something was cut."}]
        assert artifact.pages.count() == 2
        assert artifact.lease_token is None

    @pytest.mark.parametrize("is_installed", [True, False])
    def test_reads_a_scan_again_that_is_added_after_ocr_was_installed(
        self, parsed, monkeypatch, is_installed
    ):
        left_out = ParseWarning("scanned_page", "Page 1 is a picture; its text was not read.")
        parsed["scan.pdf"] = document("", warnings=(left_out,))
        artifact, _ = add_artifact("plain", file(name="scan.pdf"))
        reading.parse_artifact(artifact.pk)
        monkeypatch.setattr("documents.parsing.ocr.is_installed", lambda: is_installed)

        again, outcome = add_artifact("plain", file(name="scan.pdf"))

        assert (again.pk, outcome) == (artifact.pk, AddOutcome.UNCHANGED)
        expected = Artifact.State.RECEIVED if is_installed else Artifact.State.PARSED
        assert again.state == expected

    def test_keeps_a_given_title(self, parsed):
        parsed["herons.md"] = document("One.", title="Herons")
        artifact, _ = add_artifact("plain", file(), title="Birds")

        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert artifact.title == "Birds"

    def test_stores_why_a_file_cannot_be_read(self, parsed):
        parsed["herons.md"] = Unparsable("encrypted_pdf", "It is locked.", fix="Unlock it.")
        artifact, _ = add_artifact("plain", file())

        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.FAILED
        assert artifact.error_code == "encrypted_pdf"
        assert artifact.error_detail == "It is locked. Unlock it."

    def test_reads_an_artifact_once(self, parsed):
        parsed["herons.md"] = document("One.")
        artifact, _ = add_artifact("plain", file())

        assert reading.parse_artifact(artifact.pk) is not None
        assert reading.parse_artifact(artifact.pk) is None

    def test_gives_up_a_file_that_kills_its_worker_each_time(self, parsed, settings):
        artifact, _ = add_artifact("plain", file())
        Artifact.objects.update(attempts=settings.STRATA_MAX_ATTEMPTS)

        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.error_code) == (Artifact.State.FAILED, "gave_up")

    def test_stores_an_unexpected_error_and_retries(self, parsed):
        parsed["herons.md"] = ZeroDivisionError("a defect")
        artifact, _ = add_artifact("plain", file())

        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert (artifact.attempts, artifact.last_error) == (1, "ZeroDivisionError: a defect")
        assert Artifact.objects.unparsed().get() == artifact

    def test_fails_an_artifact_after_its_last_attempt(self, parsed, settings):
        parsed["herons.md"] = ZeroDivisionError("a defect")
        artifact, _ = add_artifact("plain", file())

        for _ in range(settings.STRATA_MAX_ATTEMPTS + 1):
            reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.error_code) == (Artifact.State.FAILED, "gave_up")
        assert "a defect" in artifact.error_detail

    def test_does_not_overwrite_a_newer_revision(self, parsed):
        artifact, _ = add_artifact("plain", file(), external_id="b1")

        def revise_while_reading() -> ParsedDocument:
            add_artifact("plain", text("Newer."), external_id="b1")
            return document("Older.")

        parsed["herons.md"] = revise_while_reading

        assert reading.parse_artifact(artifact.pk) is None

        assert [page.text for page in artifact.pages.all()] == ["Newer."]

    def test_writes_nothing_for_an_artifact_deleted_meanwhile(self, parsed):
        artifact, _ = add_artifact("plain", file())

        def delete_while_reading() -> ParsedDocument:
            services.remove_artifact(artifact.pk)
            return document("Older.")

        parsed["herons.md"] = delete_while_reading

        assert reading.parse_artifact(artifact.pk) is None

        assert not Page.objects.exists()

    def test_clears_a_failure_after_a_new_revision(self, parsed):
        parsed["herons.md"] = Unparsable("encrypted_pdf", "It is locked.")
        artifact, _ = add_artifact("plain", file(), external_id="b1")
        reading.parse_artifact(artifact.pk)

        revised, _ = add_artifact("plain", text("Unlocked."), external_id="b1")

        assert (revised.state, revised.error_code) == (Artifact.State.PARSED, "")

    def test_waits_without_cost_while_the_folder_of_originals_is_away(self, files, settings):
        artifact, _ = add_artifact("plain", file())
        settings.STRATA_FILES_DIR = files / "away"

        for _ in range(settings.STRATA_MAX_ATTEMPTS + 1):
            with pytest.raises(OriginalsUnavailable, match="away"):
                reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.attempts) == ("parsing", 0)


class TestReleaseAllLeases:
    def test_releases_the_claims_of_a_dead_worker(self, parsed):
        artifact, _ = add_artifact("plain", file())
        Artifact.objects.unparsed().claim(state=Artifact.State.PARSING)
        assert not Artifact.objects.unparsed().exists()

        release_all_leases()

        assert Artifact.objects.unparsed().get() == artifact
