"""Readers that a distribution adds (a class, and a line in the metadata) or that settings name."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from documents.exceptions import Unparsable
from documents.parsing import (
    added_readers,
    close_child_processes,
    describe_reader,
    read_confinement,
)
from documents.parsing.confinement import NO_OTHER_FILES
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


class AttributeReader:
    def load_data(self, file):
        return file.words


class NeedyReader:
    def load_data(self, file):
        import no_such_module


class NumpyReader:
    def load_data(self, file):
        import ctypes.util
        import tempfile

        import numpy

        ctypes.util.find_library("magic")
        return [SimpleNamespace(text=f"{tempfile.gettempdir()} {numpy.ones(2).sum()}", metadata={})]
"""
# As much of these libraries as is used of them.
DOCLING = r"""
import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path


@dataclass
class DocumentStream:
    name: str
    stream: BytesIO


class DocumentConverter:
    def convert(self, source):
        self.document = Document(f"{source.name}: {source.stream.read().decode()}")
        return self


@dataclass
class Document:
    text: str

    def export_to_dict(self):
        weights = Path(os.environ["DOCLING_ARTIFACTS_PATH"], "weights").read_text()
        texts = [
            {"text": text, "label": label, "prov": [{"page_no": page}], "children": []}
            for text, label, page in (
                ("Herons", "title", 1), (self.text, "text", 1), (weights, "text", 3)
            )
        ]
        references = [{"$ref": f"#/texts/{index}"} for index in range(3)]
        return {"pages": {"1": {}, "3": {}}, "texts": texts, "body": {"children": references}}
"""
UNSTRUCTURED = """
from types import SimpleNamespace

TABLE = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"


def element(category, text, page=None, depth=None, html=None):
    metadata = SimpleNamespace(page_number=page, category_depth=depth, text_as_html=html)
    return SimpleNamespace(category=category, text=text, metadata=metadata)


def partition(file, metadata_filename):
    page = 3 if metadata_filename.endswith(".pdf") else None
    return [
        element("Title", "Herons", page and 1, 0),
        element("NarrativeText", f"{metadata_filename}: {file.read().decode()}"),
        element("Title", "Food", page, 1),
        element("ListItem", "fish", page),
        element("ListItem", "frogs", page),
        element("PageBreak", "", page),
        element("Table", "a b 1 2", page, html=TABLE),
    ]
"""
MODULES = {
    "added_readers.py": MODULE,
    "docling/datamodel/base_models.py": DOCLING,
    "docling/document_converter.py": DOCLING,
    "unstructured/partition/auto.py": UNSTRUCTURED,
}
ENTRY_POINTS = """
[strata.readers]
play = added_readers:ScreenplayReader
md = added_readers:ScreenplayReader
secret = added_readers:SecretReader
broken = added_readers:BrokenReader
missing = added_readers:Missing
attribute = added_readers:AttributeReader
needy = added_readers:NeedyReader
numpy = added_readers:NumpyReader
"""


@pytest.fixture(autouse=True)
def distribution(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("distribution")
    for path, text in MODULES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for name, version in (("added_readers", "1"), ("docling", "2.5"), ("unstructured", "0.9")):
        metadata = folder / f"{name}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        )
        (metadata / "top_level.txt").write_text(name)
    (folder / "added_readers-1.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    others = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), others])))
    monkeypatch.syspath_prepend(folder)
    _forget()
    yield folder
    _forget()


def _forget():
    close_child_processes()
    added_readers._find_entry_points.cache_clear()
    added_readers._find_version.cache_clear()


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

    def test_is_named_with_its_version(self):
        assert describe_reader("a.PLAY", "application/octet-stream") == (
            "added_readers:ScreenplayReader 1"
        )
        assert describe_reader("a.docx", "text/plain") == "strata 2"

    @pytest.mark.parametrize("suffix", ["broken", "attribute"])
    def test_refuses_the_file_if_it_fails(self, refusal, suffix):
        assert refusal("words", f"a.{suffix}") == "damaged_file"

    @pytest.mark.parametrize(
        ("suffix", "reason"),
        [("missing", "has no attribute 'Missing'"), ("needy", "No module named 'no_such_module'")],
    )
    def test_says_what_is_missing_to_use_it(self, parse, suffix, reason):
        with pytest.raises(Unparsable) as refused:
            parse("words", f"a.{suffix}")

        assert refused.value.code == "reader_missing"
        assert refused.value.detail.endswith(f"{reason}.")
        assert "STRATA_READERS" in refused.value.fix

    def test_may_use_what_most_libraries_need(self, parse):
        for _ in range(2):  # in the same process
            assert parse("words", "a.numpy").pages[0].text == "/tmp 2.0"

    def test_is_confined_as_the_others_are(self, refusal):
        if NO_OTHER_FILES not in read_confinement():
            missing(f"This kernel or container does not offer: {NO_OTHER_FILES}.")

        assert refusal("words", "a.secret") == "damaged_file"


class TestNamedReader:
    def test_may_be_a_class(self, parse, settings):
        settings.STRATA_READERS = {"txt": "added_readers:ScreenplayReader"}

        document = parse("One.---Two.", "a.TXT")

        assert [page.label for page in document.pages] == ["Scene 1", "Scene 2"]
        assert document.media_type == "text/plain"
        assert describe_reader("a.txt", "text/plain") == "added_readers:ScreenplayReader 1"

    def test_is_used_instead_of_one_that_a_distribution_adds(self, refusal, settings):
        settings.STRATA_READERS = {"play": "added_readers:BrokenReader"}

        assert refusal("One.---Two.", "a.play") == "damaged_file"

    def test_docling_has_the_ending_its_weights_and_the_pages(self, parse, settings, monkeypatch):
        settings.STRATA_READERS = {"pdf": "docling"}
        with TemporaryDirectory() as folder:  # not below those that a reader may read
            Path(folder, "weights").write_text("layout")
            monkeypatch.setenv("DOCLING_ARTIFACTS_PATH", folder)

            document = parse("a_b & c", "a.pdf")

        pages = ["# Herons\n\nfile.pdf: a_b & c", "", "layout"]
        assert [page.text for page in document.pages] == pages
        assert (document.title, document.media_type) == ("Herons", "application/pdf")
        assert describe_reader("a.pdf", "application/pdf") == "docling 2.5"

    def test_unstructured_has_headings_lists_and_tables(self, parse, settings):
        settings.STRATA_READERS = {"docx": "unstructured"}

        document = parse("They wait.", "a.docx")

        [page] = document.pages
        assert page.text == (
            "# Herons\n\nfile.docx: They wait.\n\n## Food\n\n- fish\n- frogs"
            "\n| a | b |\n| --- | --- |\n| 1 | 2 |"
        )
        assert (page.label, document.title) == ("Herons", "Herons")
        assert document.media_type.endswith("wordprocessingml.document")
        assert describe_reader("a.docx", "") == "unstructured 0.9"

    def test_has_a_label_by_which_documents_are_read_anew(self, parse, settings):
        settings.STRATA_READERS = {"docx": "unstructured@2"}

        assert parse("They wait.", "a.docx").title == "Herons"
        assert describe_reader("a.docx", "") == "unstructured@2 0.9"

    def test_unstructured_has_the_pages_of_the_file(self, parse, settings):
        settings.STRATA_READERS = {"pdf": "unstructured"}

        pages = [page.text for page in parse("They wait.", "a.pdf").pages]

        assert pages[:2] == ["# Herons\n\nfile.pdf: They wait.", ""]
        assert pages[2].startswith("## Food\n\n- fish")
