"""The command ``add``, in this process: which document a file is."""

import io
import uuid
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from core import api_client
from documents.connectors.local_files import add_file, iter_files
from documents.models import Artifact
from documents.reading import parse_artifact
from documents.services import AddOutcome, add_artifact
from indexing.management import add_command
from tests.documents.test_services import file
from tests.factories import sync


@pytest.fixture
def add(build, monkeypatch, settings, tmp_path):
    """Run the command; return its exit status and output."""
    settings.STRATA_FILES_DIR = tmp_path / "files"
    monkeypatch.setattr(api_client, "has_embedded_store", lambda: False)

    def add(*paths, **options):
        out, err = io.StringIO(), io.StringIO()
        try:
            call_command("add", *map(str, paths), index="plain", stdout=out, stderr=err, **options)
        except SystemExit as stop:
            return stop.code, out.getvalue() + err.getvalue()
        return 0, out.getvalue() + err.getvalue()

    return add


class TestAddStream:
    def test_tells_the_server_to_reconcile_soon_and_then_seldom(self):
        added: list[int] = []
        reconciled: list[int] = []

        def stream():
            for number in range(1_400):
                added.append(number)
                yield add_command.AddResult("a note", uuid.uuid4(), AddOutcome.ADDED)

        command = add_command.AddDocumentsCommand(stdout=io.StringIO())
        command.api = SimpleNamespace(
            has_server=True, wake_workers=lambda: reconciled.append(len(added))
        )
        command._add_stream(stream(), None)

        assert reconciled == [50, 100, 200, 400, 800, 1_300, 1_400]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "talks" / "2024").mkdir(parents=True)
    (tmp_path / "talks" / "readme.md").write_text("Talks.")
    (tmp_path / "talks" / "2024" / "march.md").write_text("First.")
    return tmp_path / "talks"


def external_ids():
    return sorted(Artifact.objects.values_list("external_id", flat=True))


class TestExternalIds:
    def test_make_an_edited_file_a_new_revision(self, add, folder):
        add(folder)
        (folder / "2024" / "march.md").write_text("Second.")

        status, output = add(folder)

        assert (status, output.splitlines()[0]) == (0, "1 revised, 1 unchanged")
        assert external_ids() == ["2024/march.md", "readme.md"]

    def test_of_a_file_given_alone_are_its_name(self, add, folder):
        add(folder / "readme.md")
        (folder / "readme.md").write_text("More talks.")

        assert add(folder)[1].splitlines()[0] == "1 added, 1 revised"

    def test_can_be_left_out(self, add, folder):
        add(folder, external_id="none")

        assert set(Artifact.objects.values_list("external_id", flat=True)) == {None}

    def test_can_begin_with_the_name_of_the_folder(self, add, folder, monkeypatch):
        monkeypatch.chdir(folder)

        add(".", external_id="folder")

        assert external_ids() == ["talks/2024/march.md", "talks/readme.md"]

    def test_of_a_second_folder_do_not_replace_the_first_ones(self, add, folder, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "readme.md").write_text("Other.")

        assert add(folder, tmp_path / "other")[1].splitlines()[0] == "3 added"
        assert external_ids() == ["2024/march.md", "other/readme.md", "readme.md"]

    def test_that_are_asked_for_are_given_once_in_a_command(self, add, folder, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "readme.md").write_text("Other.")

        status, output = add(folder, tmp_path / "other", external_id="path")

        assert status == 1
        assert "2 added, 1 rejected" in output
        assert "Leave --external-id out" in output
        assert add(folder, tmp_path / "other", external_id="folder")[0] == 0

    def test_may_be_given_twice_in_one_command(self, add, folder):
        assert add(folder, folder / "readme.md")[0] == 0

    def test_of_long_paths_differ_and_fit(self, add, folder):
        deep = folder / ("a" * 200) / ("b" * 200)
        deep.mkdir(parents=True)
        for name in ("one", "two"):
            (deep / f"{name}.md").write_text(name)

        assert add(folder)[0] == 0
        assert len(external_ids()) == 4
        assert max(map(len, external_ids())) <= 255

    def test_are_given_to_a_document_that_was_added_without_one(self, add, folder):
        add(folder, external_id="none")

        assert add(folder)[1].splitlines()[0] == "2 unchanged"
        assert external_ids() == ["2024/march.md", "readme.md"]

    def test_are_not_taken_from_a_copy(self, add, folder):
        add_artifact("plain", file(b"Talks.", "readme.md"), external_id="mine")

        add(folder / "readme.md")

        assert external_ids() == ["mine", "readme.md"]


class TestAttributes:
    def test_are_taken_from_the_options(self, add, folder):
        add(
            folder / "readme.md", title="Talks of a year", url="https://talks.example/",
            metadata='{"year": 2024}',
        )  # fmt: skip

        artifact = Artifact.objects.get()
        assert (artifact.title, artifact.url) == ("Talks of a year", "https://talks.example/")
        assert artifact.metadata == {"year": 2024}

    def test_of_a_line_replace_those_of_the_options(self, add, tmp_path):
        path = tmp_path / "lines.jsonl"
        path.write_text('{"text": "One.", "metadata": {"year": 1911}}\n{"text": "Two."}')

        add(path, metadata='{"year": 2024, "lang": "en"}')

        assert sorted(
            Artifact.objects.values_list("metadata", flat=True), key=lambda each: each["year"]
        ) == [{"year": 1911, "lang": "en"}, {"year": 2024, "lang": "en"}]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"metadata": "{"}, "--metadata: The text is not valid JSON"),
            ({"metadata": "[1]"}, "--metadata"),
            ({"url": "talks"}, "--url"),
            ({"title": "x" * 1_001}, "--title"),
        ],
    )
    def test_are_checked(self, add, folder, options, message):
        with pytest.raises(CommandError, match=message):
            add(folder / "readme.md", **options)

    @pytest.mark.parametrize("option", ["title", "url"])
    def test_of_one_document_need_one_file(self, add, folder, option):
        with pytest.raises(CommandError, match=f"--{option} is for one file"):
            add(folder, **{option: "https://talks.example/"})


class TestWaiting:
    def test_names_documents_that_hold_nothing_to_find(self, add, build, folder, monkeypatch):
        def work(index, artifact_ids):
            sync(build, *[parse_artifact(pk) for pk in artifact_ids])

        monkeypatch.setattr(add_command, "wait_for_artifacts", work)
        (folder / "blank.md").write_text(" ")

        status, output = add(folder, wait=True)

        assert status == 0
        assert "2 ready, 0 failed, 1 with nothing to find" in output
        assert "blank.md: The file holds no text" in output
        assert "[no_text]" in output


@pytest.mark.django_db
def test_symbolic_links_out_of_a_folder_are_refused(tmp_path, build):
    folder, elsewhere = tmp_path / "notes", tmp_path / "elsewhere"
    for each in (folder, elsewhere):
        each.mkdir()
        (each / "page.txt").write_text(f"A page of {each.name}.")
    (folder / "file.txt").symlink_to(elsewhere / "page.txt")
    (folder / "below").symlink_to(elsewhere)
    (folder / "gone.txt").symlink_to(elsewhere / "gone.txt")
    (folder / "same.txt").symlink_to(folder / "page.txt")

    results = [result for path in iter_files([folder]) for result in add_file("plain", path)]

    refused = [result for result in results if result.error is not None]
    assert [result.name.rpartition("/")[2] for result in refused] == [
        "below", "file.txt", "gone.txt",
    ]  # fmt: skip
    assert {result.error.detail for result in refused} == {
        "A symbolic link to a folder, or out of the link's own folder, is not followed."
    }
    assert Artifact.objects.get().file_name == "page.txt"
