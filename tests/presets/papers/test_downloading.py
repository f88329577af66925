"""Downloading the Anthology from a server on loopback, and writing what would be imported."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import commands
from documents.models import Artifact
from presets.papers.anthology import downloading
from tests.documents.test_fetching import Site
from tests.factories import load_index

XML = """<collection id="2031.owl"><volume id="main">
<meta><year>2031</year><venue>owl</venue></meta>
<paper id="1"><title>Owls</title><abstract>Owls see $\\alpha$ well.</abstract>
<author><first>A.</first><last>Lind</last></author></paper>
<paper id="2"><title>Without</title></paper></volume></collection>"""
PEOPLE = "- canonical: {first: Ada, last: Lind}\n  variants:\n  - {first: A., last: Lind}\n"
OWLS = {
    "text": "Owls see α well.", "title": "Owls", "url": "https://aclanthology.org/2031.owl-main.1/",
    "metadata": {"authors": ["A. Lind", "Ada Lind"], "venue": ["owl"], "year": 2031},
    "external_id": "2031.owl-main.1",
}  # fmt: skip


def zipped(**members: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()


def with_broken_bytes(archive: bytes) -> bytes:
    """The archive with a first file whose compressed bytes cannot be unpacked."""
    start = archive.index(b".xml") + len(b".xml")
    return archive[:start] + b"\xff" * 8 + archive[start + 8 :]


ARCHIVE = {
    "acl-anthology-master/data/xml/2031.owl.xml": XML,
    "acl-anthology-master/data/yaml/name_variants.yaml": PEOPLE,
    "acl-anthology-master/hugo/xml/other.txt": "not the Anthology's",
    "../../xml/outside.xml": XML.replace("2031.owl", "2031.out"),
}


@pytest.fixture(autouse=True)
def papers(db, store, embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "load_specs", list)
    load_index("papers")


@pytest.fixture
def site(settings) -> Iterator[Site]:
    site = Site()
    settings.STRATA_ANTHOLOGY_URL = f"{site.url}/anthology.zip"
    yield site
    site.close()


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return tmp_path / "cleaned.jsonl"


def load(lines: Path) -> list[Any]:
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]


class TestDownload:
    def test_of_an_archive_reads_its_papers_and_names(self, site, lines, capsys):
        site.pages["/anthology.zip"] = (200, {}, zipped(**ARCHIVE))

        call_command("import_acl", "--download", "--write", str(lines))

        assert load(lines) == [OWLS]
        assert "1 written, 1 without an abstract" in capsys.readouterr().out

    def test_of_one_file_follows_redirects(self, site, settings, lines):
        settings.STRATA_ANTHOLOGY_URL = f"{site.url}/latest"
        site.pages["/latest"] = (302, {"Location": "/xml/2031.owl.xml"}, b"")
        site.pages["/xml/2031.owl.xml"] = (200, {}, XML.encode())

        call_command("import_acl", "--download", "--write", str(lines))

        assert [each["external_id"] for each in load(lines)] == ["2031.owl-main.1"]

    def test_leaves_nothing_behind(self, site, lines, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        site.pages["/anthology.zip"] = (200, {}, zipped(**ARCHIVE))

        call_command("import_acl", "--download", "--write", str(lines))

        assert list((tmp_path / "temporary").iterdir()) == []

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            ((404, {}, b""), r"answered with status 404"),
            ((200, {}, b"no zip"), r"is damaged"),
            ((200, {}, with_broken_bytes(zipped(**ARCHIVE))), r"is damaged"),
            ((200, {}, zipped(readme="Nothing.")), r"holds no files of the ACL Anthology"),
            ((200, {"Content-Encoding": "gzip"}, b"x"), r"The answer is encoded"),
        ],
    )
    def test_says_what_is_wrong_with_an_answer(self, site, lines, answer, said):
        site.pages["/anthology.zip"] = answer

        with pytest.raises(CommandError, match=said):
            call_command("import_acl", "--download", "--write", str(lines))

        assert not lines.exists()

    def test_ends_if_the_archive_unpacks_to_too_much(self, site, lines, monkeypatch):
        monkeypatch.setattr(downloading, "MAX_UNPACKED_BYTES", 1_000)
        site.pages["/anthology.zip"] = (200, {}, zipped(**{"xml/2031.owl.xml": XML + " " * 10_000}))

        with pytest.raises(CommandError, match=r"unpacks to more than 1,000 bytes"):
            call_command("import_acl", "--download", "--write", str(lines))

    def test_says_why_the_host_sends_nothing(self, site, lines):
        site.close()

        with pytest.raises(CommandError, match=r"refused\. Try again later\. \[address_unavail"):
            call_command("import_acl", "--download", "--write", str(lines))

    def test_is_refused_from_a_private_host_that_no_setting_names(self, site, settings, lines):
        settings.STRATA_PRIVATE_HOSTS = []

        with pytest.raises(CommandError, match="STRATA_PRIVATE_HOSTS"):
            call_command("import_acl", "--download", "--write", str(lines))

    def test_needs_an_address(self, settings, lines):
        settings.STRATA_ANTHOLOGY_URL = ""

        with pytest.raises(CommandError, match="STRATA_ANTHOLOGY_URL is not set"):
            call_command("import_acl", "--download", "--write", str(lines))


class TestWrite:
    @pytest.fixture
    def xml(self, tmp_path: Path) -> Path:
        path = tmp_path / "2031.owl.xml"
        path.write_text(XML, encoding="utf-8")
        return path

    def test_writes_the_lines_that_add_reads(self, xml, lines, capsys, monkeypatch):
        monkeypatch.setattr("core.api_client.has_embedded_store", lambda: False)
        call_command("import_acl", str(xml), "--write", str(lines))
        assert not Artifact.objects.exists()

        call_command("add", str(lines), "--index", "papers")
        call_command("import_acl", str(xml))

        assert Artifact.objects.get().external_id == "2031.owl-main.1"
        assert "1 unchanged, 1 without an abstract" in capsys.readouterr().out

    def test_of_a_path_makes_no_temporary_folder(self, xml, lines, monkeypatch):
        monkeypatch.setattr("tempfile.mkdtemp", None)

        call_command("import_acl", str(xml), "--write", str(lines))

        assert len(load(lines)) == 1

    def test_reports_papers_that_cannot_be_read(self, xml, lines, capsys):
        xml.write_text(XML.replace('<paper id="2">', "<paper>"))

        with pytest.raises(SystemExit):
            call_command("import_acl", str(xml), "--write", str(lines))

        assert "has no valid Anthology id" in capsys.readouterr().err
        assert len(load(lines)) == 1

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "Give a PATH or --download"),
            (["{xml}", "--download"], "Give a PATH or --download"),
            (["{xml}", "--write", "papers.json"], r"must end with \.jsonl"),
            (["{xml}", "--write", "{lines}", "--wait"], "--wait cannot be given with --write"),
            (["{xml}", "--write", "{lines}", "--index", "papers"], "--index cannot be given"),
        ],
    )
    def test_refuses_options_that_do_not_fit(self, xml, lines, arguments, said):
        with pytest.raises(CommandError, match=said):
            call_command("import_acl", *(each.format(xml=xml, lines=lines) for each in arguments))

        assert not lines.exists()
