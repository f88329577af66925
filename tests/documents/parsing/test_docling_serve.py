import socket
from dataclasses import replace

import httpx
import pytest

from config.diagnostics import check_installation
from documents import tasks
from documents.exceptions import ReaderUnavailable, Unparsable
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.parsing import added_readers, docling_serve
from documents.services import add_artifact
from tests.documents.docling_server import make_item, make_result, running_docling
from tests.documents.parsing.conftest import LIMITS

PDF = b"%PDF-1.7\r\n\x00\xff--boundary"


@pytest.fixture
def server(settings, monkeypatch):
    monkeypatch.setattr(docling_serve, "POLL_SECONDS", 0.01)
    with running_docling() as server:
        settings.STRATA_READERS = {"pdf": "docling-serve", "docx": "docling-serve@2"}
        settings.STRATA_DOCLING_SERVE_URL = server.url
        yield server


@pytest.fixture
def away(server, settings):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        settings.STRATA_DOCLING_SERVE_URL = f"http://127.0.0.1:{closed.getsockname()[1]}"


def refuse(parse) -> str:
    with pytest.raises(Unparsable) as refused:
        parse(PDF, "a.pdf")
    assert refused.value.code == "reader_refused"
    assert refused.value.detail.startswith("docling-serve cannot read the file: ")
    assert "STRATA_READERS" in str(refused.value.fix)
    return refused.value.detail


class TestRequest:
    def test_has_the_whole_file_named_by_its_ending_only(self, server, parse):
        parse(PDF, "Secret plan.PDF")

        assert server.files == [("file.pdf", PDF)]

    def test_wants_no_pictures_and_has_a_time_limit(self, server, parse, settings):
        settings.STRATA_DOCLING_SERVE_SECONDS = 90.0

        parse(PDF, "a.pdf")

        assert server.options == [
            ("to_formats", "json"),
            ("image_export_mode", "placeholder"),
            ("include_images", "false"),
            ("document_timeout", "90.0"),
        ]

    def test_has_the_key(self, server, parse, settings):
        server.key = settings.STRATA_DOCLING_SERVE_API_KEY = "a-key"

        assert parse(PDF, "a.pdf").pages

    def test_is_not_made_for_other_files(self, server, parse):
        parse("Words.", "a.txt")

        assert server.files == []


class TestPages:
    def test_are_those_of_the_file_also_after_pages_without_text(self, server, parse):
        server.result = make_result(
            make_item("Herons", 1, "title"),
            make_item("They wait."),
            make_item("Volume 2", 2, "page_header", layer="furniture"),
            make_item("", 3, "picture"),
            make_item(
                "", 0, "list",
                items=[make_item("fish", 4, "list_item"), make_item("frogs", 5, "list_item")],
            ),
            make_item("Food", 7, "section_header"),
            page_count=8,
        )  # fmt: skip

        document = parse(PDF, "a.pdf")

        assert [page.text for page in document.pages] == [
            "# Herons\n\nThey wait.", "", "", "- fish", "- frogs", "", "## Food", "",
        ]  # fmt: skip
        assert document.title == "Herons"
        assert document.media_type == "application/pdf"
        assert (document.encoding, document.warnings) == (None, ())

    def test_of_a_format_without_pages_are_its_sections(self, server, parse):
        server.result = make_result(
            make_item("Herons", 0, "section_header"),
            make_item("They wait."),
            make_item("Food", 0, "section_header"),
            make_item("Fish", 0, "section_header", level=2),
        )

        document = parse(PDF, "a.docx")

        assert [page.label for page in document.pages] == ["Herons", "Food"]
        assert document.pages[1].text == "## Food\n\n### Fish"
        assert document.media_type.endswith("wordprocessingml.document")

    def test_have_tables_with_their_captions(self, server, parse):
        wide = {"text": "fish", "start_col_offset_idx": 0}
        cells = [{"text": text, "start_col_offset_idx": at} for at, text in enumerate("123")]
        last = {"text": "g", "start_col_offset_idx": 2}
        server.result = make_result(
            make_item("Table 1", 0, "table", table=[[wide, wide, last], cells]),
            make_item("Figure 1", 0, "picture"),
        )

        [page] = parse(PDF, "a.docx").pages

        assert page.text == (
            "Table 1\n| fish |  | g |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n\nFigure 1"
        )

    def test_have_runs_lists_and_code(self, server, parse):
        runs = [make_item("They eat"), make_item("a_fish & <b>")]
        inner = make_item("", 0, "list", items=[make_item("roach", 0, "list_item")])
        outer = [make_item("fish", 0, "list_item", marker="1."), inner]
        server.result = make_result(
            make_item("", 0, "inline", items=runs),
            make_item("", 0, "inline", items=[]),
            make_item("", 0, "list", items=outer),
            make_item("x = 1", 0, "code"),
        )

        [page] = parse(PDF, "a.docx").pages

        assert page.text == "They eat a_fish & <b>\n\n1. fish\n    - roach\n\n```\nx = 1\n```"

    def test_are_limited(self, server, parse):
        server.result = make_result(make_item("One.", 1), page_count=4)

        with pytest.raises(Unparsable) as refused:
            parse(PDF, "a.pdf", limits=replace(LIMITS, max_pages=3))

        assert refused.value.code == "too_many_pages"

    def test_that_are_missing_are_named(self, server, parse):
        server.result = make_result(
            make_item("One."), status="partial_success", error="Page 2 is odd"
        )

        [warning] = parse(PDF, "a.pdf").warnings

        assert warning.code == "partly_read"
        assert warning.detail.endswith("only a part of the file: Page 2 is odd")


class TestRefusal:
    def test_has_the_reason_of_a_failed_task(self, server, parse):
        server.tasks, server.error_message = ["pending", "failure"], "Not a PDF."

        assert refuse(parse) == "docling-serve cannot read the file: Not a PDF."

    def test_says_that_a_failed_task_has_no_reason(self, server, parse):
        server.tasks = ["failure"]

        assert refuse(parse).endswith("it gives no reason.")

    def test_has_the_reason_of_a_failed_conversion(self, server, parse):
        server.result = make_result(status="failure", error="No text layer")

        assert refuse(parse).endswith("No text layer.")

    @pytest.mark.parametrize("status", [413, 422])
    def test_has_the_reason_for_which_the_file_is_not_taken(self, server, parse, status):
        server.status, server.answer = status, {"detail": "over 9 MB"}

        assert "over 9 MB" in refuse(parse)

    def test_comes_if_reading_takes_too_long(self, server, parse, settings, monkeypatch):
        monkeypatch.setattr(docling_serve, "GRACE_SECONDS", 0.0)
        settings.STRATA_DOCLING_SERVE_SECONDS = 0.05
        server.tasks = ["pending", "started"]

        assert "longer than STRATA_DOCLING_SERVE_SECONDS" in refuse(parse)

    def test_does_not_come_if_a_file_has_waited_long(self, server, parse, monkeypatch):
        monkeypatch.setattr(docling_serve, "QUEUE_SECONDS", -1.0)
        server.tasks = ["started", "success"]

        assert parse(PDF, "a.pdf").pages

    def test_does_not_come_if_no_reading_begins(self, server, parse, monkeypatch):
        monkeypatch.setattr(docling_serve, "QUEUE_SECONDS", 0.05)
        server.tasks = ["pending"]

        with pytest.raises(TimeoutError, match="did not begin"):
            parse(PDF, "a.pdf")

    def test_comes_if_the_answer_is_too_large(self, server, parse, settings):
        settings.STRATA_PARSE_MAX_EXPANDED_BYTES = 10_000
        server.result = make_result(make_item("word " * 2_000))

        assert "too large" in refuse(parse)


class TestOutage:
    @pytest.fixture
    def outage(self, parse):
        def outage() -> str:
            with pytest.raises(ReaderUnavailable) as error:
                parse(PDF, "a.pdf")
            assert "STRATA_DOCLING_SERVE_URL" in str(error.value.fix)
            return error.value.detail

        return outage

    def test_is_retryable(self, away, outage):
        assert "refused" in outage()

    @pytest.mark.parametrize("status", [429, 500, 504])
    def test_is_that_of_a_server_that_has_an_error(self, server, outage, status):
        server.status = status

        assert f"it answered {status}" in outage()

    def test_is_a_wrong_key(self, server, outage):
        server.key = "a-key"

        assert "API Key is invalid" in outage()

    def test_is_a_wrong_address(self, server, outage, settings):
        settings.STRATA_DOCLING_SERVE_URL += "/v1"

        assert "it answered 404" in outage()

    @pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}"])
    def test_is_an_answer_of_another_service(self, server, outage, answer):
        server.answer = answer

        assert "not that of docling-serve" in outage()

    def test_is_a_silent_server(self, server, outage, settings, monkeypatch):
        monkeypatch.setattr(docling_serve, "TIMEOUT", httpx.Timeout(0.05))
        with socket.create_server(("127.0.0.1", 0)) as silent:
            settings.STRATA_DOCLING_SERVE_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"

            assert "timed out" in outage()

    def test_is_a_private_address_that_is_not_allowed(self, server, outage, settings):
        settings.STRATA_PRIVATE_HOSTS = []

        assert "STRATA_PRIVATE_HOSTS" in outage()


@pytest.mark.django_db
class TestUploads:
    @pytest.fixture(autouse=True)
    def folder(self, build, settings, tmp_path):
        settings.STRATA_FILES_DIR = tmp_path / "files"

    def add(self, name: str, content: bytes = PDF) -> Artifact:
        artifact, _ = add_artifact("plain", save_incoming_file(name, [content]))
        return artifact

    def test_are_read(self, server):
        server.result = make_result(make_item("Herons wait.", 1), page_count=1)
        artifact = self.add("a.pdf")

        tasks.parse_artifact(artifact_id=str(artifact.pk))

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.PARSED
        assert artifact.reader == "docling-serve"
        assert [page.text for page in artifact.pages.all()] == ["Herons wait."]

    def test_wait_for_it_without_losing_attempts(self, away, server, settings):
        artifact = self.add("a.pdf")
        for _ in range(settings.STRATA_MAX_ATTEMPTS + 1):
            tasks.parse_artifact(artifact_id=str(artifact.pk))

        artifact.refresh_from_db()
        assert artifact.attempts == 0
        assert "docling-serve at" in artifact.last_error

        settings.STRATA_DOCLING_SERVE_URL = server.url
        tasks.reconcile_documents()

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.PARSED

    def test_of_other_formats_are_read_meanwhile(self, away, monkeypatch):
        waiting, other = self.add("a.PDF"), self.add("b.txt", b"Words.")
        read = []
        monkeypatch.setattr(tasks.reading, "parse_artifact", read.append)

        tasks.reconcile_documents()

        assert read == [other.pk]
        assert waiting.pk not in read

    def test_are_given_up_if_each_of_them_ends_it(self, server, settings):
        settings.STRATA_MAX_ATTEMPTS = 2
        server.has_lost_task = True
        artifact = self.add("a.pdf")

        for _ in range(3):
            tasks.parse_artifact(artifact_id=str(artifact.pk))

        artifact.refresh_from_db()
        assert artifact.state == Artifact.State.FAILED
        assert "lost the file" in artifact.last_error + artifact.error_detail


class TestDescription:
    def test_is_the_name_with_its_label(self, server):
        assert added_readers.describe_reader("a.pdf", "application/pdf") == "docling-serve"
        assert added_readers.describe_reader("a.DOCX", "") == "docling-serve@2"
        assert added_readers.describe_reader("a.odt", "") == "strata 1"


class TestDoctor:
    def result(self):
        return [each for each in check_installation() if "docling-serve" in each.detail]

    def test_asks_it(self, server):
        [result] = self.result()

        assert result.is_ok

    def test_says_what_to_do_if_it_is_away(self, away):
        [result] = self.result()

        assert not result.is_ok
        assert "STRATA_DOCLING_SERVE_URL" in str(result.fix)

    def test_does_not_ask_it_if_no_files_are_for_it(self, away, settings):
        settings.STRATA_READERS = {}

        assert self.result() == []
