"""Files in a file: a ZIP is a folder, and the attachments of an e-mail are documents."""

import logging
from collections import deque
from email.message import EmailMessage
from itertools import repeat
from pathlib import Path

import pytest

from core.text import hash_text
from documents import reading, services
from documents.exceptions import DocumentHeld, Unparsable
from documents.models import Artifact
from documents.originals import FileContent, IncomingParts, save_incoming_file
from documents.parsing.document import MAX_FILES
from documents.services import AddOutcome, TextContent, add_artifact
from tests.documents.parsing.makers import make_msg, make_zip

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def files(settings, tmp_path) -> Path:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return settings.STRATA_FILES_DIR


def file(content: bytes, name: str) -> FileContent:
    return save_incoming_file(name, [content])


def read(artifact: Artifact) -> Artifact:
    reading.parse_artifact(artifact.pk)
    artifact.refresh_from_db()
    return artifact


def find_parts(whole: Artifact) -> dict[str, Artifact]:
    return {(part.external_id or "").split("/", 1)[1]: part for part in whole.parts.all()}


def make_mail(*attachments: tuple[str, bytes], subject: str = "Plans") -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = subject, "ann@x.org"
    mail.set_content("See the files.")
    for name, content in attachments:
        mail.add_attachment(content, maintype="text", subtype="markdown", filename=name)
    return mail


class TestZip:
    """A ZIP is a folder: each of its files becomes a document of its own."""

    def add(self, members, **given):
        folder, _ = add_artifact("plain", file(make_zip(members), "notes.zip"), **given)
        reading.parse_artifact(folder.pk)
        folder.refresh_from_db()
        inner = Artifact.objects.filter(external_id__startswith=f"{folder.pk}/")
        return folder, {artifact.external_id.split("/", 1)[1]: artifact for artifact in inner}

    def test_gives_its_files_its_groups_and_metadata(self):
        members = {"a.md": "# Herons", "birds/a.md": "# Storks", "birds/b.bin": b"\0\1"}

        folder, files = self.add(members, groups=["team"], metadata={}, added_by="key")

        assert folder.state == Artifact.State.PARSED
        assert [page.text for page in folder.pages.all()] == ["a.md\nbirds/a.md\nbirds/b.bin"]
        assert set(files) == set(members)
        assert {(each.groups[0], each.added_by) for each in files.values()} == {("team", "key")}
        for each in files.values():
            reading.parse_artifact(each.pk)
        files["birds/a.md"].refresh_from_db()
        assert files["birds/a.md"].title == "Storks"

    def test_takes_over_no_document_that_its_groups_may_not_see(self):
        other, _ = add_artifact("plain", file(b"# Herons", "a.md"), groups=["other"])

        self.add({"a.md": "# Herons"}, groups=["team"])

        other.refresh_from_db()
        assert (other.groups, other.external_id) == (["other"], None)
        assert Artifact.objects.count() == 3

    def test_leaves_out_hidden_files_and_zips(self):
        members = {".git/config": "a", "__MACOSX/a.md": "a", "b.ZIP": make_zip({}), "c.md": "c"}

        folder, files = self.add(members)

        assert set(files) == {"c.md"}
        assert [warning["code"] for warning in folder.warnings] == ["inner_zip"]

    def test_names_files_that_it_leaves_out(self):
        outside = ["../up.md", "a/../../up.md", "..\\up.md"]
        read = ["a..b.md", "/etc/motd", "C:\\motd.txt"]

        folder, files = self.add(dict.fromkeys([*outside, "d.zip", ".hidden", "e.zip", *read], "a"))

        assert set(files) == set(read)
        assert {warning["code"]: warning["detail"] for warning in folder.warnings} == {
            "outside_path": "Files whose path has a part '..' were left out: "
            "../up.md, a/../../up.md, ..\\up.md.",
            "inner_zip": "ZIPs in the file were left out: d.zip, e.zip.",
        }

    def test_names_only_some_of_many_files_that_it_leaves_out(self):
        zips = [f"{number}{'x' * 100}.zip" for number in range(1_000)]

        folder, _ = self.add(dict.fromkeys(["a.md", *zips], "a"))

        [warning] = folder.warnings
        assert warning["detail"].endswith("xxx.zip and 997 others.")

    def test_makes_no_duplicates_when_it_is_read_again(self):
        folder, before = self.add({"a.md": "First", "b.md": "Same"})

        services.replace_content(
            folder.pk, file(make_zip({"a.md": "New", "b.md": "Same"}), "n.zip")
        )
        reading.parse_artifact(folder.pk)

        after = {each.pk: each.sha256 for each in Artifact.objects.exclude(pk=folder.pk)}
        assert after == {
            before["a.md"].pk: hash_text("New"),
            before["b.md"].pk: before["b.md"].sha256,
        }

    def test_keeps_the_names_of_files_with_a_long_path_apart(self):
        names = [f"{'folder/' * 40}{name}.md" for name in "ab"]

        _, files = self.add(dict.fromkeys(names, "Herons"))

        assert sorted(files) == sorted(map(hash_text, names))

    @pytest.mark.parametrize(
        ("limit", "value", "code"),
        [
            ("STRATA_PARSE_MAX_EXPANDED_BYTES", 10_000, "too_large"),
            ("STRATA_MAX_UPLOAD_BYTES", 10_000, "too_large"),
        ],
    )
    def test_is_refused_beyond_the_limits(self, settings, limit, value, code):
        members = {"bomb.txt": "0" * 100_000}
        folder, _ = add_artifact("plain", file(make_zip(members), "bomb.zip"))
        setattr(settings, limit, value)

        reading.parse_artifact(folder.pk)

        folder.refresh_from_db()
        assert (folder.state, folder.error_code) == (Artifact.State.FAILED, code)
        assert Artifact.objects.count() == 1

    def test_is_refused_with_too_many_files(self):
        folder, files = self.add({f"{number}.md": "" for number in range(MAX_FILES + 1)})

        assert (folder.error_code, files) == ("too_large", {})

    def test_is_refused_if_a_file_is_damaged(self):
        content = make_zip({"a.txt": "Herons wait at the water " * 50})
        middle = len(content) // 3
        damaged = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
        folder, _ = add_artifact("plain", file(damaged, "a.zip"))

        reading.parse_artifact(folder.pk)

        folder.refresh_from_db()
        assert folder.error_code == "damaged_file"

    def test_needs_its_ending(self):
        folder, _ = add_artifact("plain", file(make_zip({"a.md": "a"}), "program.jar"))

        reading.parse_artifact(folder.pk)

        folder.refresh_from_db()
        assert folder.error_code == "unsupported_format"


class TestParts:
    """What belongs together is changed and deleted together."""

    def add(self, members, **given):
        whole, _ = add_artifact("plain", file(make_zip(members), "notes.zip"), **given)
        return read(whole), find_parts(whole)

    def replace(self, whole, members):
        services.replace_content(whole.pk, file(make_zip(members), "notes.zip"))
        return read(whole)

    def test_a_new_version_deletes_the_files_that_it_no_longer_holds(
        self, caplog, files, django_capture_on_commit_callbacks
    ):
        whole, before = self.add({"a.md": "Herons", "b.md": "Storks"})
        for part in before.values():
            read(part)

        with (
            caplog.at_level(logging.INFO, "documents.reading"),
            django_capture_on_commit_callbacks(execute=True),
        ):
            self.replace(whole, {"a.md": "Herons", "c.md": "Terns"})

        after = find_parts(whole)
        assert set(after) == {"a.md", "c.md"}
        assert after["a.md"].state == Artifact.State.PARSED  # it is not read again
        assert after["a.md"].revision == before["a.md"].revision
        [receipt] = [line for line in caplog.messages if "no longer holds" in line]
        assert str(before["b.md"].pk) in receipt
        assert "'points': 0" in receipt
        originals = {path.name for path in files.rglob("*") if path.is_file()}
        assert Path(before["b.md"].original_name).name not in originals

    def test_a_version_that_cannot_be_read_leaves_the_files(self):
        whole, _ = self.add({"a.md": "Herons"})

        services.replace_content(whole.pk, file(b"PK\3\4 no archive", "notes.zip"))

        assert read(whole).state == Artifact.State.FAILED
        assert set(find_parts(whole)) == {"a.md"}

    def test_a_text_in_its_place_deletes_them(self):
        whole, _ = self.add({"a.md": "Herons"})

        services.replace_content(whole.pk, TextContent(("Only words.",)))

        assert not find_parts(whole)

    def test_are_deleted_with_the_whole(self, files, django_capture_on_commit_callbacks):
        whole, _ = self.add({"a.md": "Herons", "b.md": "Storks"})
        other, _ = add_artifact("plain", TextContent(("Other",)), external_id=f"{whole.pk}/x")

        with django_capture_on_commit_callbacks(execute=True):
            services.remove_artifact(whole.pk)

        assert list(Artifact.objects.all()) == [other]
        assert not [path for path in files.rglob("*") if path.is_file()]

    def test_get_the_new_groups_and_metadata_of_the_whole(self):
        archive = make_zip({"a.md": "Herons"})
        whole, _ = add_artifact("plain", file(archive, "notes.zip"), groups=["team"])
        read(whole)

        services.update_artifact(whole.pk, groups=["board"], metadata={"year": 1911})

        [part] = whole.parts.all()
        assert (part.groups, part.metadata) == (["board"], {"year": 1911})
        add_artifact("plain", file(archive, "notes.zip"), groups=[])
        part.refresh_from_db()
        assert part.groups == []

    def test_are_held_with_the_whole_and_keep_it(self):
        whole, parts = self.add({"a.md": "Herons", "b.md": "Storks"})

        services.update_artifact(whole.pk, is_held=True)
        assert all(part.is_held for part in whole.parts.all())
        services.update_artifact(whole.pk, is_held=False)
        services.update_artifact(parts["b.md"].pk, is_held=True)

        with pytest.raises(DocumentHeld, match=r"b\.md is under a legal hold"):
            services.remove_artifact(whole.pk)
        whole = self.replace(whole, {"a.md": "Herons"})
        assert (whole.state, whole.error_code) == (Artifact.State.FAILED, "document_held")
        assert set(find_parts(whole)) == {"a.md", "b.md"}

    def test_of_a_held_whole_are_held_from_the_start(self):
        whole, _ = add_artifact("plain", file(make_zip({"a.md": "Herons"}), "notes.zip"))
        services.update_artifact(whole.pk, is_held=True)

        assert [part.is_held for part in read(whole).parts.all()] == [True]

    def test_are_other_documents_than_the_same_files_given_alone(self):
        alone, _ = add_artifact("plain", file(b"Herons", "a.md"))
        whole, parts = self.add({"a.md": "Herons", "b.md": "Storks"})
        again, outcome = add_artifact("plain", file(b"Storks", "b.md"))

        assert parts["a.md"].pk != alone.pk
        assert (again.part_of, outcome) == (None, AddOutcome.ADDED)
        services.remove_artifact(whole.pk)
        assert set(Artifact.objects.all()) == {alone, again}

    def test_are_not_added_once_the_whole_is_deleted(self, monkeypatch):
        whole, _ = add_artifact("plain", file(make_zip({"a.md": "Herons"}), "notes.zip"))
        parse_file = reading.parse_file

        def delete_meanwhile(*arguments, **options):
            parsed = parse_file(*arguments, **options)
            services.remove_artifact(whole.pk)
            return parsed

        monkeypatch.setattr(reading, "parse_file", delete_meanwhile)

        assert reading.parse_artifact(whole.pk) is None

        assert not Artifact.objects.exists()


class TestIncomingParts:
    """The limits hold whatever the process that reads the file sends."""

    def test_refuses_too_many_files(self, files):
        with IncomingParts() as parts, pytest.raises(Unparsable, match="too many"):
            deque(map(parts.receive, map(str, range(MAX_FILES + 1)), repeat(b"")))

        assert not list(files.glob("incoming-*"))

    def test_refuses_too_many_bytes(self, settings, files):
        settings.STRATA_PARSE_MAX_EXPANDED_BYTES = 10

        with IncomingParts() as parts:
            parts.receive("a.md", b"")
            with pytest.raises(Unparsable, match="too large"):
                parts.receive("a.md", b"x" * 11)

        assert not list(files.glob("incoming-*"))


class TestMail:
    def add(self, mail, **given):
        whole, _ = add_artifact("plain", file(mail.as_bytes(), "mail.eml"), **given)
        return read(whole), find_parts(whole)

    def test_makes_attachments_documents_with_its_groups(self):
        mail = make_mail(("a.md", b"# Herons"), ("a.md", b"# Storks"))

        whole, parts = self.add(mail, groups=["team"])

        assert "Attachments: a.md, a (2).md\n" in whole.pages.get().text
        assert {name: read(part).title for name, part in parts.items()} == {
            "a.md": "Herons",
            "a (2).md": "Storks",
        }
        assert {part.groups[0] for part in parts.values()} == {"team"}
        assert whole.warnings == []

    def test_reads_an_attached_mail_but_only_lists_its_attachments(self):
        mail = make_mail()
        mail.add_attachment(make_mail(("deep.md", b"Deep"), subject="Inner: plans"))

        _, parts = self.add(mail)

        inner = read(parts["Inner: plans.eml"])
        assert "See the files." in inner.pages.get().text
        assert "Attachments: deep.md" in inner.pages.get().text
        assert [warning["code"] for warning in inner.warnings] == ["unread_attachments"]
        assert not inner.parts.exists()

    def test_leaves_out_pictures_of_the_body_and_zips(self):
        mail = make_mail()
        mail.add_alternative('<p>See <img src="cid:logo">.', subtype="html")
        for content_id in ("logo", "map"):
            mail.add_attachment(
                b"GIF89a", maintype="image", subtype="gif", filename=f"{content_id}.gif",
                cid=f"<{content_id}>", disposition="inline",
            )  # fmt: skip
        mail.add_attachment(make_zip({}), maintype="application", subtype="zip", filename="z.zip")

        whole, parts = self.add(mail)

        assert set(parts) == {"map.gif"}
        assert [warning["code"] for warning in whole.warnings] == ["inner_zip"]

    def test_names_attachments_without_a_name_by_their_type(self):
        mail = make_mail()
        mail.add_attachment("words", disposition="attachment")

        _, parts = self.add(mail)

        assert set(parts) == {"attachment.txt"}

    def test_is_refused_with_too_many_attachments(self):
        mail = make_mail(*((f"{number}.md", b"x") for number in range(MAX_FILES + 1)))

        whole, parts = self.add(mail)

        assert (whole.error_code, parts) == ("too_large", {})

    def test_a_new_version_deletes_attachments_that_are_gone(self):
        whole, _ = self.add(make_mail(("a.md", b"Herons")), external_id="mail-7")

        content = file(make_mail(("b.md", b"Storks")).as_bytes(), "mail.eml")
        add_artifact("plain", content, external_id="mail-7")

        assert set(find_parts(read(whole))) == {"b.md"}

    def test_of_outlook_has_attachments_too(self):
        inner = make_msg("Inner", attachments=[("deep.md", b"Deep")])
        mail = make_msg(attachments=[("a.md", b"# Herons")])
        mail.add_embedded_message_attachment(inner)

        whole, _ = add_artifact("plain", file(mail.to_bytes(), "mail.msg"))
        parts = find_parts(read(whole))

        assert {name: read(part).title for name, part in parts.items()} == {
            "a.md": "Herons",
            "Inner.eml": "Inner",
        }
        assert "Attachments: deep.md" in parts["Inner.eml"].pages.get().text
