"""How lines that OCR found become paragraphs, and what is said without OCR."""

from types import SimpleNamespace

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import ocr, pdf
from documents.parsing.document import DocumentDraft
from documents.parsing.ocr import Line, find_line_boxes, join_lines
from tests.documents.parsing.conftest import LIMITS


def line(text: str, left: float, top: float, width: float = 200) -> Line:
    return Line(text, left, top, left + width, top + 20)


def paragraphs_of(*lines: Line) -> list[list[str]]:
    return [[each.text for each in paragraph] for paragraph in join_lines(lines)]


class TestJoinLines:
    def test_joins_lines_below_each_other_and_keeps_columns_apart(self):
        left = [line("one", 0, 0), line("two", 10, 25)]
        right = [line("three", 300, 5), line("four", 300, 30)]

        assert paragraphs_of(*right, *left) == [["one", "two"], ["three", "four"]]

    def test_begins_a_paragraph_after_a_gap(self):
        assert paragraphs_of(line("one", 0, 0), line("two", 0, 60)) == [["one"], ["two"]]

    def test_keeps_words_of_one_row_apart(self):
        assert paragraphs_of(line("Slide", 0, 4, 50), line("6", 300, 0, 10)) == [["6"], ["Slide"]]


class TestReadPicture:
    @pytest.mark.parametrize(
        ("confidence", "width", "text"),
        [(0.4, 300, "straight"), (0.4, 40, ""), (0.95, 300, "slanting")],
    )
    def test_reads_a_long_line_again_of_which_it_is_not_sure(
        self, monkeypatch, confidence, width, text
    ):
        def engine(picture, *, use_det, use_cls, use_rec, text_score):
            if not use_det:
                return SimpleNamespace(txts=("straight",), scores=(0.98,))
            corners = [(10, 10), (10 + width, 12), (10 + width, 30), (10, 28)]
            return SimpleNamespace(txts=("slanting",), scores=(confidence,), boxes=[corners])

        monkeypatch.setattr(ocr, "_load_engine", lambda: engine)

        assert ocr.read_picture(Image.new("RGB", (400, 100))).text == text


class TestBoxesOfLines:
    TEXT = "Herons wait\nfor hours.\n\nThey dive."
    LINES = ((0.9, 0.1, 0.1, 0.4, 0.2), (0.8, 0.1, 0.2, 0.3, 0.3), (0.7, 0.5, 0.1, 0.8, 0.2))

    def test_are_those_of_the_lines_that_a_passage_touches(self):
        start, end = self.TEXT.index("wait"), self.TEXT.index(" hours")

        boxes = find_line_boxes(self.TEXT, self.LINES, start, end)

        assert boxes == [(0.1, 0.1, 0.4, 0.2), (0.1, 0.2, 0.3, 0.3)]

    def test_leave_out_the_line_after_a_line_break(self):
        end = self.TEXT.index("They")

        assert len(find_line_boxes(self.TEXT, self.LINES, 0, end)) == 2

    def test_are_absent_if_the_lines_are_of_another_text(self):
        assert find_line_boxes(self.TEXT + "\nAt once.", self.LINES, 0, 5) == []


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
