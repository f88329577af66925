import socket

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from config.diagnostics import check_installation
from documents import reading, tasks
from documents.exceptions import ScannerUnavailable, Unparsable
from documents.models import Artifact
from documents.virus_scan import ping_scanner, scan_file
from tests.clients import client_with_key
from tests.documents.clamd import VIRUS, running_scanner
from tests.factories import original_path

CLEAN = b"# Herons\n\nThey wait."
INFECTED = b"# Herons\n\n" + VIRUS


@pytest.fixture(params=["TCP", "a socket"])
def scanner(request, settings, tmp_path):
    with running_scanner(None if request.param == "TCP" else tmp_path / "clamd") as server:
        settings.STRATA_CLAMD = server.setting
        yield server


@pytest.fixture
def tcp_scanner(settings):
    with running_scanner() as server:
        settings.STRATA_CLAMD = server.setting
        yield server


@pytest.fixture
def file(tmp_path):
    def write(content: bytes):
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write


class TestScanFile:
    @pytest.mark.parametrize("size", [0, 1, 200_000])
    def test_sends_the_whole_file(self, scanner, file, size):
        content = b"heron" * (size // 5) + b"x" * (size % 5)

        scan_file(file(content))

        assert scanner.scanned == [content]

    def test_names_the_virus(self, scanner, file):
        with pytest.raises(Unparsable, match=r"found Test\.Virus in the file") as error:
            scan_file(file(INFECTED))

        assert error.value.code == "infected_file"

    def test_refuses_a_file_that_the_scanner_rejects(self, scanner, file):
        scanner.max_bytes = 100_000

        with pytest.raises(Unparsable) as error:
            scan_file(file(b"x" * 5_000_000))

        assert error.value.code == "unscannable_file"

    def test_raises_an_error_for_an_unexpected_answer(self, scanner, file):
        scanner.reply = b"stream: Can't allocate memory ERROR"

        with pytest.raises(ScannerUnavailable, match="allocate memory"):
            scan_file(file(CLEAN))

    def test_raises_a_retryable_error_if_the_scanner_is_missing(self, settings, file, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        for address in (f"127.0.0.1:{port}", str(tmp_path / "missing")):
            settings.STRATA_CLAMD = address

            with pytest.raises(ScannerUnavailable, match="did not answer"):
                scan_file(file(CLEAN))

    def test_raises_a_retryable_error_if_the_scanner_hangs(self, settings, file):
        settings.STRATA_CLAMD_SECONDS = 0.05
        with socket.create_server(("127.0.0.1", 0)) as silent:
            settings.STRATA_CLAMD = f"127.0.0.1:{silent.getsockname()[1]}"

            with pytest.raises(ScannerUnavailable, match="timed out"):
                scan_file(file(CLEAN))


@pytest.mark.django_db
class TestUploads:
    @pytest.fixture
    def api(self, build, settings, tmp_path):
        settings.STRATA_FILES_DIR = tmp_path / "files"
        return client_with_key()

    def give(self, api, content: bytes) -> str:
        file = SimpleUploadedFile("herons.md", content)
        answer = api.post("/api/v1/indexes/plain/artifacts/", {"file": file}, format="multipart")
        assert answer.status_code == 202
        return answer.json()["id"]

    def read(self, api, artifact_id: str) -> dict:
        return api.get(f"/api/v1/artifacts/{artifact_id}/").json()

    def download(self, api, artifact_id: str):
        return api.get(f"/api/v1/artifacts/{artifact_id}/original")

    @pytest.mark.django_db(transaction=True)
    def test_that_are_infected_are_neither_parsed_nor_downloadable(self, api, tcp_scanner):
        artifact_id = self.give(api, INFECTED)

        shown = self.read(api, artifact_id)

        assert shown["status"] == "failed"
        assert shown["error"] == {
            "code": "infected_file",
            "detail": "The virus scanner found Test.Virus in the file, which was deleted. Clean "
            "the file and add it again.",
        }
        assert not original_path(Artifact.objects.get()).exists()
        answer = self.download(api, artifact_id)
        assert (answer.status_code, answer.json()["code"]) == (422, "infected_file")

    @pytest.mark.django_db(transaction=True)
    def test_that_are_clean_are_scanned_once(self, api, tcp_scanner):
        artifact_id = self.give(api, CLEAN)

        assert self.read(api, artifact_id)["error"] is None
        assert b"".join(self.download(api, artifact_id)) == CLEAN
        assert tcp_scanner.scanned == [CLEAN]

    def test_are_not_downloadable_before_they_are_scanned(self, api, tcp_scanner):
        """The message to parse it is not sent: no commit."""
        artifact_id = self.give(api, INFECTED)

        answer = self.download(api, artifact_id)

        assert (answer.status_code, answer.json()["code"]) == (422, "infected_file")
        assert self.read(api, artifact_id)["error"]["code"] == "infected_file"

    def test_wait_for_the_scanner_without_losing_attempts(self, api, settings):
        settings.STRATA_CLAMD = "/nowhere/clamd"
        artifact_id = self.give(api, CLEAN)
        for _ in range(settings.STRATA_MAX_ATTEMPTS + 1):
            tasks.parse_artifact(artifact_id=artifact_id)

        shown = self.read(api, artifact_id)
        assert shown["status"] == "parsing"
        assert shown["error"]["code"] == "parsing_waits"
        assert "The virus scanner at /nowhere/clamd did not answer" in shown["error"]["detail"]
        assert self.download(api, artifact_id).json()["code"] == "virus_scanner_unavailable"
        assert Artifact.objects.get().attempts == 0

        with running_scanner() as scanner:
            settings.STRATA_CLAMD = scanner.setting
            tasks.reconcile_documents()

        assert self.read(api, artifact_id)["error"] is None
        assert Artifact.objects.get().state == Artifact.State.PARSED

    def test_are_not_parsed_by_the_reconciliation_while_the_scanner_is_missing(
        self, api, settings, monkeypatch
    ):
        settings.STRATA_CLAMD = "/nowhere/clamd"
        self.give(api, CLEAN)
        monkeypatch.setattr(reading, "parse_artifact", lambda artifact_id: pytest.fail("tried"))

        tasks.reconcile_documents()

    def test_are_scanned_again_with_other_content(self, api, tcp_scanner):
        artifact_id = self.give(api, CLEAN)
        tasks.parse_artifact(artifact_id=artifact_id)
        file = SimpleUploadedFile("herons.md", INFECTED)
        api.put(f"/api/v1/artifacts/{artifact_id}/content", {"file": file}, format="multipart")

        assert self.download(api, artifact_id).status_code == 422

    def test_are_not_scanned_without_a_scanner(self, api, settings):
        settings.STRATA_CLAMD = ""
        artifact_id = self.give(api, INFECTED)

        assert b"".join(self.download(api, artifact_id)) == INFECTED


class TestDoctor:
    def test_reports_a_scanner_that_answers(self, tcp_scanner):
        ping_scanner()

        [result] = [each for each in check_installation() if each.subject == "viruses"]

        assert (result.is_ok, result.detail) == (
            True, f"The scanner at {tcp_scanner.setting} answers.",
        )  # fmt: skip

    def test_says_what_to_do_if_the_scanner_does_not_answer(self, tcp_scanner):
        tcp_scanner.pong = b"COMMAND READ TIMED OUT\0"

        [result] = [each for each in check_installation() if each.subject == "viruses"]

        assert not result.is_ok
        assert "COMMAND READ TIMED OUT" in result.detail
        assert result.fix.startswith("Start clamd")
