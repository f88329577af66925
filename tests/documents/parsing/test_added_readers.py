"""A reader that a distribution adds: a class, and a line in the metadata."""

import os

import pytest

from documents.parsing import close_child_processes, read_confinement
from documents.parsing.confinement import NO_OTHER_FILES
from documents.parsing.formats import describe_reader, find_added_reader
from tests.servers.production import missing

MODULE = """
from pathlib import Path
from types import SimpleNamespace


class ScreenplayReader:
    def load_data(self, file):
        scenes = Path(file).read_text().split("---")
        return [
            SimpleNamespace(text=scene, metadata={"page_label": f"Scene {number}"})
            for number, scene in enumerate(scenes, 1)
        ]


class SecretReader:
    def load_data(self, file):
        Path(file).read_text()
        return [SimpleNamespace(text=Path("/etc/passwd").read_text(), metadata={})]


class BrokenReader:
    def load_data(self, file):
        raise ValueError
"""
ENTRY_POINTS = """
[strata.readers]
play = added_readers:ScreenplayReader
md = added_readers:ScreenplayReader
secret = added_readers:SecretReader
broken = added_readers:BrokenReader
missing = added_readers:Missing
"""


@pytest.fixture(autouse=True)
def distribution(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("distribution")
    (folder / "added_readers.py").write_text(MODULE)
    metadata = folder / "added_readers-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: added-readers\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    others = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), others])))
    close_child_processes()
    yield
    close_child_processes()


class TestAddedReader:
    def test_reads_a_format_of_its_own(self, parse):
        document = parse("A lamp is lit.---It goes out.", "a.play")

        assert [(page.label, page.text) for page in document.pages] == [
            ("Scene 1", "A lamp is lit."),
            ("Scene 2", "It goes out."),
        ]

    def test_replaces_the_reader_of_a_format(self, parse):
        document = parse("One.---Two.", "a.MD")

        assert len(document.pages) == 2
        assert document.media_type == "text/markdown"

    def test_is_named_with_its_version(self, distribution, monkeypatch):
        monkeypatch.syspath_prepend(os.environ["PYTHONPATH"].split(os.pathsep)[0])
        find_added_reader.cache_clear()

        assert describe_reader("a.PLAY", "application/octet-stream") == (
            "added_readers:ScreenplayReader 1"
        )
        assert describe_reader("a.docx", "text/plain") == "strata 1"
        find_added_reader.cache_clear()

    @pytest.mark.parametrize("suffix", ["broken", "missing"])
    def test_refuses_the_file_if_it_fails(self, refusal, suffix):
        assert refusal("words", f"a.{suffix}") == "damaged_file"

    def test_is_confined_as_the_others_are(self, refusal):
        if NO_OTHER_FILES not in read_confinement():
            missing(f"This kernel or container does not offer: {NO_OTHER_FILES}.")

        assert refusal("words", "a.secret") == "damaged_file"
