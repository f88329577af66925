"""How lines that OCR found become paragraphs, and what is said without OCR."""

from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import pdf
from documents.parsing.document import DocumentDraft
from documents.parsing.ocr import Line, join_lines
from tests.documents.parsing.conftest import LIMITS


def line(text: str, left: float, top: float, width: float = 200) -> Line:
    return Line(text, left, top, left + width, top + 20)


class TestJoinLines:
    def test_joins_lines_below_each_other_and_keeps_columns_apart(self):
        left = [line("one", 0, 0), line("two", 10, 25)]
        right = [line("three", 300, 5), line("four", 300, 30)]

        assert join_lines([*right, *left]) == ["one\ntwo", "three\nfour"]

    def test_begins_a_paragraph_after_a_gap(self):
        assert join_lines([line("one", 0, 0), line("two", 0, 60)]) == ["one", "two"]

    def test_keeps_words_of_one_row_apart(self):
        assert join_lines([line("Slide", 0, 4, 50), line("6", 300, 0, 10)]) == ["6", "Slide"]


class TestWithoutOcr:
    def test_a_scanned_page_stays_empty_with_a_warning(self, tmp_path):
        path = tmp_path / "scan.pdf"
        canvas = Canvas(str(path), pagesize=(200, 100))
        canvas.drawString(10, 50, "Text.")
        canvas.showPage()
        canvas.drawInlineImage(Image.new("RGB", (200, 100), "grey"), 0, 0)
        canvas.showPage()
        canvas.save()
        draft = DocumentDraft(LIMITS)

        pdf.read(path, draft)

        assert [page.text.strip() for page in draft.pages] == ["Text.", ""]
        assert [(warning.code, warning.detail) for warning in draft.warnings] == [
            ("scanned_page", "Page 2 is a picture; its text was not read.")
        ]
