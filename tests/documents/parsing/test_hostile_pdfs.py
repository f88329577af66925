"""Small PDFs that were made to take much."""

import pytest

from documents.parsing import close_child_processes, process_pool, reader_process

HELLO = b"BT /F 12 Tf 72 700 Td (The heron waits.) Tj ET"
TITLE = b"<</Title(a)/Parent 6 0 R/Dest[3 0 R/Fit]"


def make_stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(content), content)


def make_raw_pdf(content: bytes, *objects: bytes, resources: bytes = b"/Font<</F 5 0 R>>") -> bytes:
    """One page; the other objects are numbered from 6, which the outline is."""
    written = b"%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(
        (
            b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<%s>>>>"
            % resources,
            make_stream(content),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            *objects,
        ),
        start=1,
    ):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return written + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\n" % (
        len(offsets) + 1, rows, len(offsets) + 1,
    ) + b"startxref\n%d\n%%%%EOF" % len(written)  # fmt: skip


@pytest.mark.parametrize(
    "titles",
    [
        [TITLE + b"/Next 8 0 R>>", TITLE + b"/Next 7 0 R>>"],
        [TITLE + b"/First 7 0 R/Last 7 0 R>>"],
        [TITLE + b"/First 6 0 R/Last 6 0 R>>"],
        [TITLE + b"/First 7 0 R/Next 8 0 R>>", TITLE + b"/First 7 0 R/Next 7 0 R>>"],
    ],
)
def test_an_outline_that_loops_crashes_no_reader(parse, titles):
    outline = b"<</Type/Outlines/First 7 0 R/Last 7 0 R>>"

    document = parse(make_raw_pdf(HELLO, outline, *titles), "a.pdf")

    assert [page.text.strip() for page in document.pages] == ["The heron waits."]
    assert [warning.code for warning in document.warnings] == ["plain_page"]


def test_a_sound_outline_keeps_the_layout(parse):
    outline = b"<</Type/Outlines/First 7 0 R/Last 7 0 R>>"

    document = parse(make_raw_pdf(HELLO, outline, TITLE + b">>"), "a.pdf")

    assert [(page.text, page.label) for page in document.pages] == [("The heron waits.", "a")]
    assert document.warnings == ()


class TestMemory:
    @pytest.fixture
    def drawn_often(self):
        """3 KB: 12 forms, each of which draws the next one ten times."""
        form = b"/Type/XObject/Subtype/Form/BBox[0 0 900 900]/Resources<<%s>>"
        forms = [
            make_stream(b"/X Do " * 10, form % (b"/XObject<</X %d 0 R>>" % (number + 1)))
            for number in range(7, 19)
        ]
        last = make_stream(HELLO, form % b"/Font<</F 5 0 R>>")
        return make_raw_pdf(b"/X Do", b"null", *forms, last, resources=b"/XObject<</X 7 0 R>>")

    def test_is_bounded_by_the_size_of_the_file(self, refusal, drawn_often):
        assert len(drawn_often) < 4_000
        assert refusal(drawn_often, "a.pdf") == "parse_memory"

    def test_of_earlier_files_is_not_counted(self, parse, monkeypatch):
        close_child_processes()
        parse("one", "a.txt")
        taken = process_pool._idle[0]._read_memory()
        monkeypatch.setattr(process_pool, "BASE_BYTES", taken // 2)
        monkeypatch.setattr(reader_process, "MEMORY_CHECK_SECONDS", 0.001)

        assert parse("two", "a.txt").pages[0].text == "two"
        assert process_pool._idle
