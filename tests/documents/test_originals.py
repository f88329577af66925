import errno
import os
import time
from pathlib import Path

import pytest

from core.exceptions import DiskFull, TooLarge
from core.text import hash_text
from documents.originals import ABANDONED_SECONDS, delete_abandoned_files, save_incoming_file


@pytest.fixture(autouse=True)
def files(tmp_path: Path, settings) -> Path:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return settings.STRATA_FILES_DIR


def kept(files: Path) -> set[str]:
    return {path.name for path in files.rglob("*") if path.is_file()}


class TestSaveIncomingFile:
    def test_stores_the_given_content(self, files):
        content = save_incoming_file("a/b/herons.md", [b"Herons ", b"wait."])

        assert content.path.read_bytes() == b"Herons wait."
        assert (content.file_name, content.byte_count) == ("herons.md", 12)
        assert content.sha256 == hash_text("Herons wait.")

    def test_keeps_no_file_that_is_too_large(self, files, settings):
        settings.STRATA_MAX_UPLOAD_BYTES = 10

        with pytest.raises(TooLarge):
            save_incoming_file("a", [b"12345678", b"9abc"])

        assert kept(files) == set()

    def test_keeps_no_file_if_the_disk_is_full(self, files, settings):
        settings.STRATA_MIN_FREE_BYTES = 2**60

        with pytest.raises(DiskFull):
            save_incoming_file("a", [b"content"])

        assert kept(files) == set()

    def test_keeps_no_file_of_a_broken_upload(self, files):
        def broken():
            yield b"some"
            raise OSError(errno.ECONNRESET, "gone")

        with pytest.raises(OSError, match="gone"):
            save_incoming_file("a", broken())

        assert kept(files) == set()

    def test_replaces_characters_of_a_name_that_are_not_utf8(self):
        assert save_incoming_file("a\udcff\x00", [b""]).file_name == "a\ufffd\ufffd"


class TestDeleteAbandonedFiles:
    def test_deletes_only_old_files_of_killed_processes(self, files):
        old, fresh = save_incoming_file("old", [b"old"]), save_incoming_file("fresh", [b"fresh"])
        long_ago = time.time() - ABANDONED_SECONDS - 1
        os.utime(old.path, (long_ago, long_ago))

        assert delete_abandoned_files() == 1

        assert kept(files) == {fresh.path.name}

    def test_deletes_what_a_killed_process_was_reading(self, files):
        shown = files / "reading-1" / "path"
        shown.parent.mkdir(parents=True)
        shown.write_text("words")
        long_ago = time.time() - ABANDONED_SECONDS - 1
        os.utime(shown.parent, (long_ago, long_ago))

        assert delete_abandoned_files() == 1

        assert not list(files.iterdir())

    def test_deletes_pages_of_files_that_were_never_read_to_their_end(self, files):
        pages = files / "0b" / "0b7c.ocr"
        pages.parent.mkdir(parents=True)
        pages.write_text("{}")
        long_ago = time.time() - ABANDONED_SECONDS - 1
        os.utime(pages, (long_ago, long_ago))

        assert delete_abandoned_files() == 1

        assert kept(files) == set()
