"""``strata process`` of several files, and without an index or an output folder."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import commands
from documents.models import Artifact
from indexing.models import IndexBuild
from processing.chunks import CHUNKS_FILE_NAME
from processing.folder import MANIFEST_FILE_NAME
from processing.pages import PARSED_FILE_NAME
from tests.factories import give
from tests.processing.test_processing import KNEE, load, out, physio, server

__all__ = ["out", "physio", "server"]  # fixtures

ELBOW = "# Tennis elbow\n\nLoad the wrist extensors slowly and heavily.\n"


@pytest.fixture(autouse=True)
def _loaded_indexes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command loads no other spec."""
    monkeypatch.setattr(commands, "load_specs", list)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two files in the present folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("knee.md", KNEE), ("elbow.md", ELBOW)):
        Path(name).write_text(text, encoding="utf-8")
    return [Path("knee.md"), Path("elbow.md")]


def process(*arguments: Any) -> None:
    call_command("process", *map(str, arguments))


class TestSeveralFiles:
    def test_get_a_folder_each_below_the_given_one(self, physio, files, out):
        process(*files, "--index", "physio", "--out", out, "--chunk-only")

        assert {path.name for path in out.iterdir()} == {"knee", "elbow"}
        assert load(out / "elbow" / MANIFEST_FILE_NAME)["file"]["name"] == "elbow.md"
        [chunk] = load(out / "elbow" / CHUNKS_FILE_NAME)
        assert "wrist extensors" in chunk["text"]

    def test_are_all_embedded(self, physio, files, out, server):
        process(*files, "--index", "physio", "--out", out, "--embed")

        assert sorted(Artifact.objects.values_list("file_name", flat=True)) == [
            "elbow.md", "knee.md",
        ]  # fmt: skip

    def test_are_processed_even_if_one_cannot_be_read(self, physio, files, out, capsys):
        Path("broken.pdf").write_text("this is no PDF")

        with pytest.raises(CommandError, match=r"1 of 3 files could not be processed\."):
            process("broken.pdf", *files, "--index", "physio", "--out", out, "--parse-only")

        assert "broken.pdf: The file's name says .pdf" in capsys.readouterr().err
        assert {path.name for path in out.iterdir()} == {"knee", "elbow"}

    def test_must_not_share_a_folder(self, physio, files, out):
        Path("knee.txt").write_text("Another knee.")

        with pytest.raises(CommandError, match=r"knee\.md and knee\.txt .* the same folder"):
            process("knee.md", "knee.txt", "--index", "physio", "--out", out, "--parse-only")

        assert not out.exists()


class TestWithoutOut:
    def test_the_folder_is_named_after_the_file(self, physio, files):
        process(files[0], "--index", "physio", "--parse-only")

        assert Path("knee", PARSED_FILE_NAME).is_file()

    def test_a_file_of_the_same_name_does_not_replace_what_was_made(self, physio, files):
        process(files[0], "--index", "physio", "--parse-only")
        Path("knee.txt").write_text("Another knee.")

        with pytest.raises(CommandError, match=r"knee was made from knee\.md"):
            process("knee.txt", "--index", "physio", "--parse-only")

        assert "quadriceps" in Path("knee", PARSED_FILE_NAME).read_text()


class TestWithoutAnIndex:
    def test_the_only_one_with_questions_is_chosen(self, physio, files, capsys):
        process(files[0])

        assert load(Path("knee", MANIFEST_FILE_NAME))["index"] == "physio"
        assert "for the index physio" in capsys.readouterr().out

    def test_the_one_with_documents_is_chosen(self, physio, build, files):
        give("Rest.", index="plain")

        process(files[0], "--chunk-only")

        assert load(Path("knee", MANIFEST_FILE_NAME))["index"] == "plain"

    def test_the_one_of_the_folder_is_kept(self, physio, build, files):
        process(files[0], "--index", "plain", "--parse-only")

        process(files[0], "--chunk-only")

        assert load(Path("knee", MANIFEST_FILE_NAME))["index"] == "plain"

    def test_several_are_listed(self, physio, build, files):
        with pytest.raises(
            CommandError, match=r"Several indexes .* Allowed: physio, plain\. Name one"
        ):
            process(files[0], "--parse-only")

        assert not Path("knee").exists()

    def test_a_missing_file_is_reported_first(self, physio, build, files):
        with pytest.raises(CommandError, match=r"nowhere\.md does not exist"):
            process("nowhere.md", "--parse-only")

    def test_none_is_an_error(self, db, files):
        with pytest.raises(CommandError, match="There is no index yet"):
            process(files[0], "--parse-only")

    def test_none_with_questions_is_an_error(self, build, files):
        with pytest.raises(CommandError, match="No index has a questions section"):
            process(files[0])

    def test_an_index_that_another_release_wrote_is_left_out(self, physio, build, files):
        IndexBuild.objects.filter(index="plain").update(recipe={})

        process(files[0], "--parse-only")

        assert load(Path("knee", MANIFEST_FILE_NAME))["index"] == "physio"
