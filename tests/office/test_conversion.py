"""Old Word, Excel and PowerPoint files, which LibreOffice writes for the tests and converts."""

import shutil
import subprocess
import sys
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from documents.exceptions import Unparsable
from documents.parsing import close_child_processes, office, parse_file
from documents.parsing.confinement import TMP
from tests.documents.parsing.conftest import LIMITS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if not office.is_installed():
        pytest.skip("LibreOffice is not installed; .ci/office installs it and runs these tests.")
    yield
    close_child_processes()


@pytest.fixture(scope="module")
def old_files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    document = docx.Document()
    document.add_heading("Herons", 1)
    document.add_paragraph("They wait.")
    document.save(str(folder / "a.docx"))
    workbook = openpyxl.Workbook()
    workbook.active.title = "Birds"
    workbook.active.append(["Heron", 3])
    workbook.save(folder / "a.xlsx")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Herons", "They wait."
    slides.save(folder / "a.pptx")
    for suffix in ("doc", "xls", "ppt"):
        subprocess.run(
            [
                "soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile",
                *("--convert-to", suffix, "--outdir", folder, folder / f"a.{suffix}x"),
            ],
            check=True, capture_output=True,
        )  # fmt: skip
    return folder


class TestAnOldFile:
    @pytest.mark.parametrize(
        ("name", "media_type", "text"),
        [
            ("a.doc", "application/msword", "# Herons\n\nThey wait."),
            ("a.xls", "application/vnd.ms-excel", "# Birds\n\n| Heron | 3 |\n| --- | --- |"),
            ("a.ppt", "application/vnd.ms-powerpoint", "# Herons\n\nThey wait."),
        ],
    )
    def test_is_read_as_the_newer_format(self, old_files, name, media_type, text):
        document = parse_file(old_files / name, file_name=name, limits=LIMITS)

        assert [page.text for page in document.pages] == [text]
        assert document.media_type == media_type

    def test_is_refused_if_libreoffice_cannot_open_it(self, old_files, tmp_path):
        damaged = tmp_path / "a.doc"
        damaged.write_bytes((old_files / "a.doc").read_bytes()[:600])

        with pytest.raises(Unparsable, match="LibreOffice cannot open the file"):
            parse_file(damaged, file_name="a.doc", limits=LIMITS)

    def test_is_refused_where_libreoffice_cannot_be_confined(
        self, old_files, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(
            office, "_PROGRAM",
            "from documents.parsing import office; office.confine = lambda *a, **k: []; "
            "office.main()",
        )  # fmt: skip

        with pytest.raises(Unparsable) as refused:
            parse_file(old_files / "a.doc", file_name="a.doc", limits=LIMITS)

        assert refused.value.code == "unconfined"
        assert not list(tmp_path.iterdir())


class TestConfinement:
    """What the process that becomes LibreOffice cannot do. A shell runs in its place."""

    @pytest.fixture
    def in_place_of_libreoffice(self, tmp_path):
        def run(command: str) -> subprocess.CompletedProcess[str]:
            program = (
                "import os, sys; from documents.parsing.confinement import confine\n"
                "confine(['/bin', '/usr/bin'], private_tmp=sys.argv[1])\n"
                "os.execv('/bin/sh', ['sh', '-c', sys.argv[2]])"
            )
            (tmp_path / "folder").mkdir(exist_ok=True)
            return subprocess.run(
                [sys.executable, "-c", program, tmp_path / "folder", command],
                cwd=ROOT, capture_output=True, text=True,
            )  # fmt: skip

        return run

    def test_writes_only_to_its_own_folder(self, in_place_of_libreoffice, tmp_path):
        assert in_place_of_libreoffice(f"echo words > {TMP}/a").returncode == 0
        assert (tmp_path / "folder" / "a").read_text() == "words\n"
        for path in (ROOT / "a", "/var/tmp/strata-test", "/dev/shm/strata-test"):
            assert "denied" in in_place_of_libreoffice(f"echo words > {path}").stderr
            assert not Path(path).exists()

    def test_reads_no_other_files(self, in_place_of_libreoffice):
        assert shutil.which("cat")
        for path in ("/etc/passwd", ROOT / "pyproject.toml", "/proc/1/environ"):
            assert "denied" in in_place_of_libreoffice(f"exec cat {path}").stderr

    @pytest.mark.parametrize(
        "call",
        ["socket.socket()", "socket.socket(socket.AF_UNIX).connect('/tmp/a')",
         "os.chmod('/tmp', 0o777)"],
    )  # fmt: skip
    def test_reaches_no_sockets_and_changes_no_rights(self, in_place_of_libreoffice, call):
        program = f'exec {sys.executable} -c "import os, socket; {call}"'

        assert "PermissionError" in in_place_of_libreoffice(program).stderr

    def test_starts_no_processes(self, in_place_of_libreoffice):
        assert "Cannot fork" in in_place_of_libreoffice("cat /dev/null; true").stderr
