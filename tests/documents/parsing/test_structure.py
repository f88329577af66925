"""What readers make of merged cells, tables in tables, lists, formulas, and pages side by side."""

import io

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Inches
from reportlab.lib.pagesizes import A4, landscape
from reportlab.pdfgen.canvas import Canvas

from tests.documents.parsing.makers import ARABIC_FONT, make_arabic_pdf

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def saved(document):
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def fill(cell_at, rows):
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            cell_at(row, column).text = text


class TestMergedCells:
    """A cell of several rows is in each of them; one of several columns in the first."""

    ROWS = (("Year", "Month", "Cost"), ("2025", "May", "$1"), ("", "June", "$2"))
    EXPECTED = (
        "| Year | Month | Cost |\n| --- | --- | --- |\n| 2025 | May | $1 |\n| 2025 | June | $2 |"
    )

    def test_of_word(self, parse):
        document = docx.Document()
        table = document.add_table(4, 3)
        fill(table.cell, [*self.ROWS, ("Total", "", "$3")])
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(3, 0).merge(table.cell(3, 1))

        [page] = parse(saved(document), "a.docx").pages

        assert page.text == f"{self.EXPECTED}\n| Total |  | $3 |"

    def test_of_powerpoint(self, parse):
        presentation = pptx.Presentation()
        shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
        table = shapes.add_table(4, 3, *[Inches(1)] * 4).table
        fill(table.cell, [*self.ROWS, ("Total", "", "$3")])
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(3, 0).merge(table.cell(3, 1))

        [page] = parse(saved(presentation), "a.pptx").pages

        assert page.text == f"{self.EXPECTED}\n| Total |  | $3 |"

    def test_of_excel(self, parse):
        workbook = openpyxl.Workbook()
        for row in [*self.ROWS, (), ("Total", "", "$3")]:
            workbook.active.append(row)
        workbook.active.merge_cells("A2:A4")  # and of a row that is empty
        workbook.active.merge_cells("A5:B5")

        [page] = parse(saved(workbook), "a.xlsx").pages

        assert page.text == f"{self.EXPECTED}\n\n| Total | $3 |\n| --- | --- |"

    def test_of_html_beside_each_other(self, parse):
        source = (
            "<table><tr><th colspan=2>Year<th>Cost<tr><td rowspan=2 colspan=2>2025<td>$1<tr><td>$2"
            "<tr><td>2026<td>July<td>$3</table>"
        )

        [page] = parse(source, "a.html").pages

        assert page.text == (
            "| Year |  | Cost |\n| --- | --- | --- |\n| 2025 |  | $1 |\n| 2025 |  | $2 |\n"
            "| 2026 | July | $3 |"
        )

    @pytest.mark.parametrize(
        "rows",
        [
            "<tr><td rowspan=3>2025<tr><td>May<tr><td>June",
            "<tr><td rowspan=3>2025<td>May<tr><tr><td>June",
        ],
    )
    def test_make_no_row_of_their_own(self, parse, rows):
        [page] = parse(f"<table><tr><th>Year<th>Month{rows}</table>", "a.html").pages

        assert page.text == ("| Year | Month |\n| --- | --- |\n| 2025 | May |\n| 2025 | June |")


class TestHeadersOfTables:
    """Of HTML here; readers of other formats pass on what cells are merged in the same way."""

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            (  # a title, a band beside a tall cell
                "<tr><th colspan=3>Arrivals<tr><th rowspan=2>Ship<th colspan=2>Fee"
                "<tr><th>Net<th>Tax<tr><td>Ann<td>7<td>1",
                "Arrivals\n| Ship | Fee Net | Fee Tax |\n| --- | --- | --- |\n| Ann | 7 | 1 |",
            ),
            (  # bands with the same years
                "<tr><th><th colspan=2>Tea<th colspan=2>Rum<tr><th><th>2024<th>2025<th>2024<th>2025"
                "<tr><td>May<td>1<td>2<td>3<td>4",
                "|  | Tea 2024 | Tea 2025 | Rum 2024 | Rum 2025 |\n"
                "| --- | --- | --- | --- | --- |\n| May | 1 | 2 | 3 | 4 |",
            ),
            (  # names are data, though below a wide cell
                "<tr><th colspan=2>Name<th>Note<tr><td>Ann<td>Lee<td>late<tr><td>Bo<td>Ek<td>ill",
                "| Name |  | Note |\n| --- | --- | --- |\n| Ann | Lee | late |\n| Bo | Ek | ill |",
            ),
            (
                "<tr><th>Item<th>Unit<tr><td>Rope<td>metre<tr><td>Tar<td>litre",
                "| Item | Unit |\n| --- | --- |\n| Rope | metre |\n| Tar | litre |",
            ),
        ],
    )
    def test_are_what_stands_above_the_data(self, parse, rows, expected):
        [page] = parse(f"<table>{rows}</table>", "a.html").pages

        assert page.text == expected


class TestTablesOfWord:
    def test_of_one_column_are_tables(self, parse):
        document = docx.Document()
        fill(document.add_table(2, 1).cell, [["Services"], ["Breakfast"]])

        [page] = parse(saved(document), "a.docx").pages

        assert page.text == "| Services |\n| --- |\n| Breakfast |"

    def test_in_a_cell_are_written_as_text(self, parse):
        document = docx.Document()
        table = document.add_table(2, 2)
        fill(table.cell, [("Fish", "Catch"), ("Cod", "")])
        fill(table.cell(1, 1).add_table(2, 2).cell, [("May", "June"), ("7", "9")])

        [page] = parse(saved(document), "a.docx").pages

        assert page.text == "| Fish | Catch |\n| --- | --- |\n| Cod | May June 7 9 |"


class TestLists:
    def test_of_html_keep_numbers_and_depth(self, parse):
        source = "<ol><li>First<li>Second<ul><li><p>Inner<p>and more</ul>after<li>Third</ol><p>Text"

        [page] = parse(source, "a.html").pages

        assert page.text == (
            "1. First\n2. Second\n    - Inner\n        and more\n    after\n3. Third\n\nText"
        )

    def test_of_html_are_written_at_most_nine_deep(self, parse):
        [page] = parse("<ul><li>a" * 1_000, "a.html").pages

        assert page.text.endswith("\n" + " " * 32 + "- a")

    def test_of_word_keep_depth_and_boxes(self, parse):
        document = docx.Document()
        document.add_paragraph("Outer", style="List Bullet")
        inner = document.add_paragraph("Inner")
        inner.paragraph_format.element.get_or_add_pPr().append(
            parse_xml(f"<w:numPr {nsdecls('w')}><w:ilvl w:val='1'/><w:numId w:val='1'/></w:numPr>")
        )
        document.add_paragraph("\u2612 Tea")
        document.add_paragraph("\u2610 Milk")

        [page] = parse(saved(document), "a.docx").pages

        assert page.text == "- Outer\n    - Inner\n- [x] Tea\n- [ ] Milk"


class TestWord:
    def test_reads_the_title_as_a_heading(self, parse):
        document = docx.Document()
        document.add_heading("Herons", level=0)
        document.add_paragraph("They wait.")

        parsed = parse(saved(document), "a.docx")

        assert parsed.title == "Herons"
        assert parsed.pages[0].text == "# Herons\n\nThey wait."

    def test_reads_formulas(self, parse):
        run = "<m:r><m:t>{}</m:t></m:r>".format
        power = f"<m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
        area = f"<m:f><m:num>{run('π')}{power}</m:num><m:den>{run('4')}</m:den></m:f>"
        integral = (
            f"<m:nary><m:naryPr/><m:sub>{run('0')}</m:sub><m:sup/><m:e>{run('x')}</m:e></m:nary>"
        )
        document = docx.Document()
        paragraph = document.add_paragraph("The area is ")
        for part in (area, integral):
            paragraph.paragraph_format.element.append(
                parse_xml(f"<m:oMath {MATH}>{part}</m:oMath>")
            )

        [page] = parse(saved(document), "a.docx").pages

        assert page.text == "The area is ${πr^{2}}/{4}$$∫_{0}x$"


class TestPdf:
    def test_reads_two_pages_side_by_side_one_after_the_other(self, parse):
        file = io.BytesIO()
        width, height = landscape(A4)
        canvas = Canvas(file, pagesize=(width, height))
        for side, word in enumerate(("left", "right")):
            for line in range(30):
                canvas.setFont("Helvetica" if line % 5 else "Helvetica-Bold", 10)
                x, y = 74 + 359 * side, height - 60 - 14 * line
                text = f"Line {line} of the {word} page"
                if line % 5:
                    canvas.drawString(x, y, "\u2022")
                else:
                    text = f"{line // 5 + 1 + 5 * side}. {text}"
                text += " words" * (6 if (line * 3 + side) % 4 else 1)
                canvas.drawString(x + 17 if line % 5 else x, y, text)
        canvas.save()

        [page] = parse(file.getvalue(), "a.pdf").pages

        assert page.text.index("Line 29 of the left") < page.text.index("Line 0 of the right")

    @pytest.mark.skipif(not ARABIC_FONT.exists(), reason="needs a font with Arabic letters")
    def test_reads_arabic_without_the_layout(self, parse):
        parsed = parse(make_arabic_pdf("الأهداف"), "a.pdf")

        assert "الأهداف" in parsed.pages[0].text
        assert [warning.code for warning in parsed.warnings] == ["plain_page"]
