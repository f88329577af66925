"""Real and malformed files; the manifest says how parsing each one must end."""

import csv
from pathlib import Path

import pytest
from django.conf import settings

from documents.exceptions import Unparsable
from documents.parsing import parse_file
from documents.source_splitting import split_into_sources
from tests.documents.parsing.conftest import LIMITS

FOLDER = Path(settings.BASE_DIR).parent / "shared" / "data" / "docs"
MANIFEST = FOLDER / "manifest.tsv"
SCANS = {"pdf/congress.pdf"}  # one picture; listed as readable, without a text layer

pytestmark = pytest.mark.skipif(not MANIFEST.exists(), reason="the document corpus is not here")


def _manifest():
    if not MANIFEST.exists():
        return []
    with MANIFEST.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def read(name):
    return parse_file(FOLDER / name, file_name=Path(name).name, limits=LIMITS)


def has_text(document):
    return any(page.text.strip() for page in document.pages)


@pytest.mark.parametrize("row", _manifest(), ids=lambda row: row["file"])
def test_every_file_is_parsed_as_its_manifest_expects(row):
    expected = row["expect"]
    try:
        document, code = read(row["file"]), ""
    except Unparsable as error:
        document, code = None, error.code

    if expected.startswith("reject"):
        assert code
        assert expected != "reject-encrypted" or code == "encrypted_pdf"
        assert expected != "reject-too-large" or code == "too_large"
        return
    if document is None:
        assert expected == "parse-or-reject"
        assert code not in {"parser_crashed", "parse_timeout", "parse_memory"}
        return
    if row["pages"]:
        assert len(document.pages) == int(row["pages"])
    is_empty = expected == "empty-text" or row["file"] in SCANS
    assert has_text(document) is not is_empty
    assert ("no_text" in [warning.code for warning in document.warnings]) is is_empty
    for page in document.pages:
        spans = split_into_sources(page.text)
        assert bool(spans) is bool(page.text.strip())
        assert "\0" not in page.text


@pytest.mark.parametrize(
    ("name", "index", "marker"),
    [
        ("pdf/pages_60_markers.pdf", 36, "P00037"),
        ("pptx/slides_300_markers.pptx", 141, "S0142"),
        ("nasty/pages_2000.pdf", 1233, "P01234"),
    ],
)
def test_markers_are_found_only_on_their_page(name, index, marker):
    pages = read(name).pages

    assert [at for at, page in enumerate(pages) if marker in page.text] == [index]


@pytest.mark.parametrize(
    ("name", "words", "encoding"),
    [
        ("i18n/de_cp1252.txt", "Die Verteidigung der Panthers gab nur 308 Punkte ab", "cp1252"),
        ("i18n/ru_koi8-r.txt", "уступила всего 308 очков", "koi8_r"),
        ("i18n/zh_gb18030.txt", "黑豹队的防守只丢了 308分", "gb18030"),
        ("i18n/vi_nfd.txt", "Đội thủ của Panthers", "utf-8"),
    ],
)
def test_files_without_a_declared_encoding_are_decoded(name, words, encoding):
    document = read(name)

    assert words in document.pages[0].text
    assert document.encoding == encoding


def test_hidden_text_is_not_read():
    text = read("nasty/script_style.html").pages[0].text

    assert text == "visible needle"
