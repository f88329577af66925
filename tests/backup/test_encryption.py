"""Encrypted backups and exports, written and read by the commands as people run them."""

import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# ruff: noqa: F811 - fixtures of another file
from backup import encryption
from backup.encryption import pack_folder, parse_recipients, staging_folder
from backup.restoring import restore_backup
from backup.taking import ENCRYPTED, MANIFEST, hash_files, list_files, take_backup
from core.exceptions import InvalidInput, StrataError
from tests.backup.test_backup import (  # noqa: F401 - fixtures
    TEXTS,
    ask,
    backup,
    elsewhere,
    give_documents,
    write_manifest,
)

PLAINTEXTS = [b"tides", b"heron", b"Spring", b"Aspirin", b"originals", b"documents.artifact"]


@pytest.fixture
def age() -> ModuleType:
    if not os.environ.get("CI"):  # which installs it
        pytest.importorskip("pyrage", reason="pyrage is not installed")
    import pyrage

    return pyrage


class KeyPair:
    def __init__(self, age: ModuleType, file: Path) -> None:
        identity = age.x25519.Identity.generate()
        self.recipient = str(identity.to_public())
        self.file = file
        file.write_text(f"# public key: {self.recipient}\n{identity}\n")


@pytest.fixture
def mine(age, tmp_path) -> KeyPair:
    return KeyPair(age, tmp_path / "mine.txt")


@pytest.fixture
def other(age, tmp_path) -> KeyPair:
    return KeyPair(age, tmp_path / "other.txt")


class TestBackup:
    def test_shows_nothing_and_is_restored_with_the_identity_of_each_recipient(
        self,
        served,
        elsewhere,
        mine,
        other,
        tmp_path,
    ):
        give_documents(served)
        answers = ask(served)
        folder = tmp_path / "backup"

        taken = served.manage(
            "backup", str(folder), "--encrypt-to", mine.recipient, "--encrypt-to", other.recipient
        )

        assert taken.stdout.startswith("3 documents"), taken.stderr
        assert [path.name for path in folder.rglob("*")] == [ENCRYPTED]
        assert {path.stat().st_mode & 0o077 for path in (folder, folder / ENCRYPTED)} == {0}
        written = (folder / ENCRYPTED).read_bytes()
        assert [text for text in PLAINTEXTS if text in written] == []
        assert not (served.data_dir / "staging").exists()
        refused = elsewhere.manage("restore", str(folder))
        assert "there is no manifest.json" in refused.stderr
        assert "with --identity if it is encrypted" in refused.stderr
        restored = elsewhere.manage("restore", str(folder), "--identity", str(other.file))
        assert restored.stdout.startswith("3 documents and "), restored.stderr
        assert "embedded again" not in restored.stdout
        elsewhere.verify()
        elsewhere.disarm()
        elsewhere.start()
        assert ask(elsewhere) == answers

    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_that_was_killed_is_refused_and_leaves_nothing_behind_the_next(
        self, idle, mine, tmp_path, moment
    ):
        note = tmp_path / "tides.md"
        note.write_text(TEXTS["tides.md"])
        assert idle.manage("add", str(note), "--index", "plain", "--wait").returncode == 0
        options = ("--encrypt-to", mine.recipient)
        idle.arm("archive", moment)

        killed = idle.manage("backup", str(tmp_path / "killed"), *options)

        assert killed.returncode == -9
        assert PLAINTEXTS[0] not in b"".join(
            path.read_bytes() for path in (tmp_path / "killed").iterdir()
        )
        idle.disarm()
        again = idle.manage("backup", str(tmp_path / "again"), *options)
        assert again.returncode == 0, again.stderr
        assert not (idle.data_dir / "staging").exists()
        empty = type(idle)(tmp_path / "empty")
        empty.data_dir.mkdir()
        for identity in ([], ["--identity", str(mine.file)]):
            refused = empty.manage("restore", str(tmp_path / "killed"), *identity)
            assert "holds no complete backup" in refused.stderr


@pytest.fixture
def encrypted(backup, mine, settings, tmp_path) -> Path:
    """An encrypted backup of an empty database."""
    settings.STRATA_DATA_DIR = tmp_path / "data"
    settings.STRATA_DATA_DIR.mkdir()
    write_manifest(backup, sha256=hash_files(list_files(backup)))
    folder = tmp_path / "encrypted"
    folder.mkdir()
    pack_folder(backup, folder / ENCRYPTED, parse_recipients([mine.recipient]))
    return folder


def cut_or_flip(content: bytes) -> list[bytes]:
    """The content cut at, or with another bit at, each of some places in all its parts."""
    places = [*range(0, 400, 7), *range(400, len(content), len(content) // 50), len(content) - 1]
    cut = [content[:place] for place in places]
    flipped = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in places]
    return [*cut, *flipped, content + b"\0"]


class TestRestore:
    def test_reads_an_encrypted_backup(self, encrypted, mine):
        assert restore_backup(encrypted, mine.file).documents == 0

    def test_refuses_a_wrong_identity_and_writes_nothing(self, encrypted, other, settings):
        with pytest.raises(InvalidInput, match=f"cannot be decrypted with {other.file}: "):
            restore_backup(encrypted, other.file)

        assert list(settings.STRATA_DATA_DIR.iterdir()) == []

    def test_refuses_each_changed_or_cut_file(self, encrypted, mine):
        for content in cut_or_flip((encrypted / ENCRYPTED).read_bytes()):
            (encrypted / ENCRYPTED).write_bytes(content)
            with pytest.raises(InvalidInput, match="cannot be decrypted") as said:
                restore_backup(encrypted, mine.file)
            assert "\n" not in said.value.with_fix()

    def test_refuses_a_plain_backup_in_its_place(self, encrypted, backup, mine):
        with pytest.raises(InvalidInput, match=f"no complete backup: there is no {ENCRYPTED}"):
            restore_backup(backup, mine.file)
        shutil.copy(backup / MANIFEST, encrypted / ENCRYPTED)
        with pytest.raises(InvalidInput, match="cannot be decrypted"):
            restore_backup(encrypted, mine.file)

    def test_refuses_what_is_encrypted_but_no_backup(self, encrypted, age, mine):
        recipient = age.x25519.Recipient.from_str(mine.recipient)
        (encrypted / ENCRYPTED).write_bytes(age.encrypt(b"a letter", [recipient]))

        with pytest.raises(InvalidInput, match="File is not a zip file"):
            restore_backup(encrypted, mine.file)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "cannot be decrypted with .*: .*No such file"),
            (b"age1xyz\n", "cannot be decrypted with "),
            (b"\xff\xfe", "cannot be decrypted with "),
            (b"# nothing\n", "cannot be decrypted with .*: No matching keys"),
        ],
    )
    def test_refuses_a_file_without_identities(self, encrypted, tmp_path, content, said):
        if content is not None:
            (tmp_path / "keys").write_bytes(content)

        with pytest.raises(InvalidInput, match=said):
            restore_backup(encrypted, tmp_path / "keys")


class TestRefusal:
    def test_of_a_recipient_names_no_secret(self, age, mine, db, tmp_path):
        [secret] = re.findall("AGE-SECRET-KEY-.*", mine.file.read_text())
        for recipient in ("age1nobody", secret):
            with pytest.raises(InvalidInput, match="not a public key of age") as said:
                take_backup(tmp_path / "backup", Unasked(), [recipient])
            assert secret not in said.value.with_fix()
        assert not (tmp_path / "backup").exists()

    def test_without_pyrage_says_what_to_install(self, db, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyrage", None)

        with pytest.raises(InvalidInput, match="pyrage, which is not installed") as said:
            take_backup(tmp_path / "backup", Unasked(), ["age1nobody"])

        assert said.value.fix == "Run strata install encryption."

    def test_of_a_full_disk_leaves_no_file(self, age, mine, tmp_path, monkeypatch):
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "large").write_bytes(os.urandom(1_000_000))
        with pytest.raises(StrataError, match=r"cannot be written: .*No space left"):
            encryption._encrypt_archive(
                tmp_path / "folder", FullDisk(), parse_recipients([mine.recipient])
            )

        monkeypatch.setattr(encryption, "_write_archive", refuse)
        with pytest.raises(OSError, match="gone"):
            pack_folder(tmp_path / "folder", tmp_path / "file", parse_recipients([mine.recipient]))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "mine.txt"]


class Unasked:
    def post(self, path: str, body: Any) -> Any:
        raise AssertionError("Nothing is asked before the recipients are known.")


class FullDisk:
    name = "backup.zip.age"

    def write(self, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        pass


def refuse(folder: Path, target: Any) -> None:
    raise OSError("gone")


def test_an_export_is_imported_with_the_identity(served, elsewhere, mine, other, tmp_path):
    give_documents(served)
    answers = ask(served)
    file = str(tmp_path / "plain.age")

    exported = served.manage("export", "plain", file, "--encrypt-to", mine.recipient)

    assert exported.returncode == 0, exported.stderr
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert [text for text in PLAINTEXTS if text in Path(file).read_bytes()] == []
    for identity, said in {
        (): "is encrypted",
        ("--identity", str(other.file)): "decrypted",
    }.items():
        refused = elsewhere.manage("import", file, *identity)
        assert (refused.returncode, said in refused.stderr) == (1, True), refused.stderr
    imported = elsewhere.manage("import", file, "--identity", str(mine.file))
    assert imported.stdout.startswith("2 documents"), imported.stderr
    elsewhere.verify()
    elsewhere.disarm()
    elsewhere.start()
    assert ask(elsewhere) == [hit for hit in answers if "Aspirin" not in hit[1]]


def test_one_command_at_a_time_has_the_staging_folder(settings, tmp_path):
    settings.STRATA_DATA_DIR = tmp_path
    with staging_folder() as folder:
        (folder / "left").touch()
        killed = tmp_path / "killed"
        shutil.copytree(folder, killed)
    assert not folder.exists()
    shutil.copytree(killed, folder)

    with staging_folder() as again:
        assert list(again.iterdir()) == []
