"""Which document a file of a folder is: the one that came from the same place."""

import os
import unicodedata
from pathlib import Path

import pytest
from django.core.management import CommandError

from documents.models import Artifact
from documents.services import add_artifact, update_artifact
from tests.documents.test_local_files import add as add
from tests.documents.test_local_files import external_ids
from tests.documents.test_services import file

NAME = "Größe für Ängström.md"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def contents():
    """External id -> hash of the content."""
    return dict(Artifact.objects.values_list("external_id", "sha256"))


def forget_places():
    """As in the data folders of earlier releases."""
    Artifact.objects.update(place="")


@pytest.fixture
def clients(tmp_path):
    """Two clients, each with a contract of another content, and the same terms."""
    for client in ("a", "b"):
        write(tmp_path / "clients" / client / "2019" / "contract.md", f"The contract of {client}.")
        write(tmp_path / "clients" / client / "2019" / "terms.md", "Terms for all.")
    return tmp_path / "clients"


class TestTwoFolders:
    def test_keep_their_files_of_one_name(self, add, clients):
        add(clients / "a" / "2019", group=["a"])

        status, output = add(clients / "b" / "2019")

        assert (status, output.splitlines()[0]) == (0, "2 added")
        assert external_ids() == [
            "b/2019/contract.md", "b/2019/terms.md", "contract.md", "terms.md",
        ]  # fmt: skip
        assert Artifact.objects.get(external_id="contract.md").groups == ["a"]

    def test_say_under_which_external_id_a_file_was_added(self, add, clients):
        add(clients / "a" / "2019")

        _, output = add(clients / "b" / "2019" / "contract.md")

        assert "added as b/2019/contract.md: contract.md is another document" in output

    def test_can_be_given_in_one_command(self, add, clients):
        status, output = add(clients / "a" / "2019", clients / "b" / "2019")

        assert (status, output.splitlines()[0]) == (0, "4 added")

    def test_are_revised_each_for_itself(self, add, clients):
        add(clients / "a" / "2019")
        add(clients / "b" / "2019")
        before = contents()
        write(clients / "b" / "2019" / "contract.md", "The new contract of b.")

        status, output = add(clients / "b" / "2019")

        assert (status, output.splitlines()[0]) == (0, "1 revised, 1 unchanged")
        changed = {name for name, sha256 in contents().items() if before[name] != sha256}
        assert changed == {"b/2019/contract.md"}

    def test_replace_each_other_if_that_is_asked_for(self, add, clients):
        add(clients / "a" / "2019" / "contract.md")

        _, output = add(clients / "b" / "2019" / "contract.md", if_exists="replace")

        assert output.splitlines()[0] == "1 revised"
        assert f"{clients / 'a' / '2019' / 'contract.md'}" in output.splitlines()[1]
        assert external_ids() == ["contract.md"]

    def test_replace_each_other_if_their_paths_below_identify_them(self, add, clients):
        add(clients / "a" / "2019" / "contract.md", external_id="path")

        _, output = add(clients / "b" / "2019" / "contract.md", external_id="path")

        assert output.splitlines()[0] == "1 revised"
        assert "revised: contract.md; it replaces the version of" in output
        assert add(clients / "a" / "2019" / "contract.md")[1].splitlines()[0] == "1 added"


class TestOneFolder:
    @pytest.mark.parametrize("is_edited", [False, True])
    @pytest.mark.parametrize(
        "again",
        [
            lambda folder: folder,
            lambda folder: f"{folder}/",
            lambda folder: os.path.relpath(folder),
            lambda folder: folder / "2019" / "..",
            lambda folder: folder.parent,
            lambda folder: folder / "2019",
            lambda folder: folder / "2019" / "contract.md",
            lambda folder: folder.parent.parent / "link",
            lambda folder: folder.parent.parent / "link" / "a" / "2019",
        ],
    )
    def test_is_the_same_however_it_is_named(
        self, add, clients, tmp_path, monkeypatch, again, is_edited
    ):
        (tmp_path / "link").symlink_to(clients)
        monkeypatch.chdir(tmp_path)
        add("clients/a")
        assert external_ids() == ["2019/contract.md", "2019/terms.md"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        if is_edited:
            write(clients / "a" / "2019" / "contract.md", "The new contract.")

        status, output = add(again(clients / "a"))

        assert status == 0
        assert ("1 revised" in output) == is_edited
        of_a = Artifact.objects.filter(place__contains="/a/")
        assert sorted(of_a.values_list("external_id", flat=True)) == [
            "2019/contract.md", "2019/terms.md",
        ]  # fmt: skip

    def test_may_be_moved(self, add, clients):
        add(clients)
        clients.rename(clients.parent / "archive")

        status, output = add(clients.parent / "archive" / "b")

        assert (status, output.splitlines()[0]) == (0, "2 unchanged")
        assert Artifact.objects.count() == 4
        moved = Artifact.objects.get(external_id="b/2019/contract.md")
        assert moved.place == str(clients.parent / "archive" / "b" / "2019" / "contract.md")

    def test_may_be_copied(self, add, clients, tmp_path):
        add(clients / "a")
        write(tmp_path / "copy" / "terms.md", "Terms for all.")

        assert add(tmp_path / "copy")[1].splitlines()[0] == "1 added"

    def test_has_a_new_document_for_a_renamed_file(self, add, clients):
        add(clients / "a")
        (clients / "a" / "2019" / "terms.md").rename(clients / "a" / "2019" / "rules.md")

        assert add(clients / "a")[1].splitlines()[0] == "1 added, 1 unchanged"

    def test_is_compared_in_nfc(self, add, tmp_path):
        write(tmp_path / "notes" / unicodedata.normalize("NFD", NAME), "Written on a Mac.")
        add(tmp_path / "notes")
        (tmp_path / "notes" / unicodedata.normalize("NFD", NAME)).unlink()
        write(tmp_path / "notes" / unicodedata.normalize("NFC", NAME), "Written elsewhere.")

        assert add(tmp_path / "notes")[1].splitlines()[0] == "1 revised"
        assert external_ids() == [unicodedata.normalize("NFC", NAME)]

    def test_is_not_two_forms_of_one_name(self, add, tmp_path):
        for form in ("NFC", "NFD"):
            write(tmp_path / "notes" / unicodedata.normalize(form, NAME), f"In {form}.")

        status, output = add(tmp_path / "notes")

        assert status == 1
        assert "1 added, 1 rejected" in output
        assert "rename one of the two." in output

    def test_may_have_names_that_are_no_text(self, add, tmp_path):
        for number in (233, 232):
            path = os.fsencode(write(tmp_path / "notes" / "first.md", "").parent)
            Path(os.fsdecode(path + b"/" + bytes([number]) + b".md")).write_text(f"{number}")

        assert add(tmp_path / "notes")[1].splitlines()[0] == "3 added"
        assert add(tmp_path / "notes")[1].splitlines()[0] == "3 unchanged"


class TestAnotherOrigin:
    def test_keeps_its_document(self, add, clients):
        add_artifact("plain", file(b"By hand.", "contract.md"), external_id="contract.md",
                     added_by="key 7")  # fmt: skip

        assert add(clients / "a" / "2019")[1].splitlines()[0] == "2 added"
        assert external_ids() == ["2019/contract.md", "contract.md", "terms.md"]


class TestDocumentsOfEarlierReleases:
    @pytest.mark.parametrize("mode", ["path", "folder"])
    def test_are_not_added_again(self, add, clients, mode):
        add(clients / "a", external_id=mode)
        forget_places()

        assert add(clients / "a")[1].splitlines()[0] == "2 unchanged"
        write(clients / "a" / "2019" / "contract.md", "The new contract.")
        assert add(clients / "a")[1].splitlines()[0] == "1 revised, 1 unchanged"
        assert Artifact.objects.count() == 2

    def test_are_not_added_again_with_the_folder_above(self, add, clients):
        add(clients / "a" / "2019", external_id="path")
        forget_places()

        add(clients)

        assert external_ids() == [
            "b/2019/contract.md", "b/2019/terms.md", "contract.md", "terms.md",
        ]  # fmt: skip

    def test_are_not_taken_over_by_another_folder(self, add, clients):
        add(clients / "a" / "2019", external_id="path")
        forget_places()
        before = contents()

        status, output = add(clients / "b" / "2019")

        assert status == 1
        assert "1 rejected, 1 unchanged" in output
        assert "--if-exists replace" in output
        assert "document_exists" in output
        assert contents() == before

        write(clients / "b" / "2019" / "terms.md", "Terms of b.")
        assert "2 rejected" in add(clients / "b" / "2019")[1]
        assert add(clients / "a" / "2019")[1].splitlines()[0] == "2 unchanged"
        assert add(clients / "b" / "2019")[1].splitlines()[0] == "2 added"
        assert contents().items() > before.items()

    def test_are_revised_or_kept_as_asked(self, add, clients):
        add(clients / "a" / "2019", external_id="path")
        forget_places()
        before = contents()

        kept = add(clients / "b" / "2019", if_exists="keep")[1]
        assert "2 added" in kept
        assert contents()["contract.md"] == before["contract.md"]

        write(clients / "a" / "2019" / "contract.md", "The new contract of a.")
        assert "1 revised" in add(clients / "a" / "2019", if_exists="replace")[1]
        assert contents()["contract.md"] != before["contract.md"]


class TestOptions:
    def test_of_other_ways_to_identify_exclude_if_exists(self, add, clients):
        with pytest.raises(CommandError, match="--if-exists cannot be given with"):
            add(clients, external_id="path", if_exists="keep")


@pytest.mark.django_db
def test_external_ids_are_compared_in_nfc(build):
    decomposed, composed = (unicodedata.normalize(form, NAME) for form in ("NFD", "NFC"))
    first, _ = add_artifact("plain", file(b"First.", decomposed), external_id=decomposed)

    second, verdict = add_artifact("plain", file(b"Second.", composed), external_id=composed)

    assert (second.pk, verdict, second.external_id) == (first.pk, "revised", composed)
    nameless, _ = add_artifact("plain", file(b"Third.", composed))
    assert update_artifact(nameless.pk, external_id=f"{decomposed}2").external_id == f"{composed}2"
