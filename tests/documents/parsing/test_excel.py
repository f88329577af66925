"""What Excel shows: values by their formats, formulas, headers, and nothing that is hidden."""

import io
import re
import zipfile

import openpyxl
import pytest
from openpyxl.comments import Comment


def saved(workbook):
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def with_cells(cells):
    """A workbook whose only sheet has these rows, as XML."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(saved(openpyxl.Workbook()))) as old,
        zipfile.ZipFile(file, "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                data = re.sub(
                    rb"<sheetData ?/>|<sheetData></sheetData>",
                    f"<sheetData>{cells}</sheetData>".encode(),
                    data,
                )
            new.writestr(name, data)
    return file.getvalue()


class TestValues:
    def test_are_written_as_their_formats_show_them(self, parse):
        workbook = openpyxl.Workbook()
        sheet = workbook.active
        sheet.append(["Part", "Share", "Price", "Time"])
        sheet.append([123, 0.075, -1234.5, 1.25])
        for place, code in (
            ("A2", "00000"),
            ("B2", "0.0%"),
            ("C2", '"$"#,##0.00'),
            ("D2", "[h]:mm"),
        ):
            sheet[place].number_format = code

        [page] = parse(saved(workbook), "a.xlsx").pages

        assert page.text.endswith("| 00123 | 7.5% | -$1,234.50 | 30:00 |")

    def test_of_the_other_calendar_are_right(self, parse):
        workbook = openpyxl.Workbook()
        workbook.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
        workbook.active.append([43538, "x"])
        workbook.active["A1"].number_format = "dd/mm/yyyy"

        [page] = parse(saved(workbook), "a.xlsx").pages

        assert "| 15/03/2023 | x |" in page.text

    def test_of_cells_with_raised_letters_stay_apart(self, parse):
        rich = (
            '<row r="1"><c r="A1" t="inlineStr"><is><r><t>451</t></r><r><rPr><vertAlign '
            'val="superscript"/></rPr><t>2</t></r><rPh><t>yomi</t></rPh></is></c></row>'
        )

        assert parse(with_cells(rich), "a.xlsx").pages[0].text == "451²"


class TestFormulas:
    def test_without_values_are_shown_with_a_warning(self, parse):
        cells = (
            '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f t="shared" ref="B1:B2" si="0">A1*$A$1'
            '&amp;LOG10(2)&amp;"A1"</f></c></row><row r="2"><c r="A2"><v>2</v></c>'
            '<c r="B2"><f t="shared" si="0"/></c></row><row r="3"><c r="A3"><f>1+1</f><v>2</v></c>'
            '<c r="B3" t="str"><f>IF(A1,"","")</f><v></v></c></row>'
        )

        document = parse(with_cells(cells), "a.xlsx")

        assert document.pages[0].text == (
            '| 1 | =A1*$A$1&LOG10(2)&"A1" |\n| --- | --- |\n'
            '| 2 | =A2*$A$1&LOG10(2)&"A1" |\n| 2 |  |'
        )
        assert [warning.code for warning in document.warnings] == ["uncalculated_formula"]

    def test_of_links_are_shown_by_their_words(self, parse):
        workbook = openpyxl.Workbook()
        workbook.active.append(['=HYPERLINK("https://example.org/", "The budget")'])

        document = parse(saved(workbook), "a.xlsx")

        assert document.pages[0].text == "The budget"
        assert document.warnings == ()


class TestTables:
    def test_have_one_header_below_their_titles(self, parse):
        workbook = openpyxl.Workbook()
        sheet = workbook.active
        for row in [
            ["Arrivals of May"], ["Vessel", None, "Fee", None], ["Name", "Flag", "Net", "Tax"],
            ["Ann", "SE", 7, 1], ["Bo", "DK", 8, 2],
        ]:  # fmt: skip
            sheet.append(row)
        for place in ("A1:D1", "A2:B2", "C2:D2"):
            sheet.merge_cells(place)

        [page] = parse(saved(workbook), "a.xlsx").pages

        assert page.text == (
            "Arrivals of May\n| Vessel Name | Vessel Flag | Fee Net | Fee Tax |\n"
            "| --- | --- | --- | --- |\n| Ann | SE | 7 | 1 |\n| Bo | DK | 8 | 2 |"
        )


class TestUnseenCells:
    def test_are_kept_apart(self, parse):
        workbook = openpyxl.Workbook()
        sheet = workbook.active
        for row in (["Berth", "Cost", "Fee"], ["B-17", 60, 95], ["B-18", 61, 96], ["B-19", 62, 97]):
            sheet.append(row)
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["B"].hidden = True
        sheet["C4"].number_format = ";;;"
        for state in ("hidden", "veryHidden"):
            other = workbook.create_sheet(f"A {state} sheet")
            other.append([f"{state} list"])
            other.sheet_state = state

        document = parse(saved(workbook), "a.xlsx")

        first, second, third = document.pages
        assert first.text == "| Berth | Fee |\n| --- | --- |\n| B-17 | 95 |\n| B-19 |  |"
        assert {each.text for each in first.unseen} == {"Cost", "60", "B-18\t61\t96", "97", "62"}
        assert (second.text, third.text) == ("", "")
        assert second.unseen == (("# A hidden sheet\n\nhidden list", "hidden"),)
        assert "hidden_text" in [warning.code for warning in document.warnings]


class TestNotes:
    def test_on_cells_stand_below_with_their_place(self, parse):
        workbook = openpyxl.Workbook()
        workbook.active.append(["Berth", "Fee"])
        workbook.active["B1"].comment = Comment("Ask Kim", "Lee")

        [page] = parse(saved(workbook), "a.xlsx").pages

        assert page.text == "| Berth | Fee |\n| --- | --- |\n\n[Note] B1: Ask Kim"


@pytest.mark.parametrize("suffix", ["xlsm", "xltx", "xltm"])
def test_workbooks_with_macros_and_templates_are_read(parse, suffix):
    workbook = openpyxl.Workbook()
    workbook.active.append(["Berth"])
    workbook.template = suffix != "xlsm"

    assert parse(saved(workbook), f"a.{suffix}").pages[0].text == "Berth"


class TestFilesNamedXls:
    def test_may_hold_html(self, parse):
        table = "<meta charset=utf-8><table><tr><th>Berth<th>Fee<tr><td>B-17<td>95</table>"

        [page] = parse(table, "a.xls").pages

        assert page.text == "| Berth | Fee |\n| --- | --- |\n| B-17 | 95 |"

    def test_may_hold_xml_of_excel(self, parse):
        cell = '<ss:Cell{}><ss:Data ss:Type="{}">{}</ss:Data></ss:Cell>'.format
        share, date = ' ss:StyleID="p"', ' ss:StyleID="d"'
        text = (
            '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
            '<ss:Workbook xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><ss:Styles>'
            '<ss:Style ss:ID="p"><ss:NumberFormat ss:Format="0.0%"/></ss:Style>'
            '<ss:Style ss:ID="d"><ss:NumberFormat ss:Format="Short Date"/></ss:Style></ss:Styles>'
            f'<ss:Worksheet ss:Name="Fees"><ss:Table><ss:Row>{cell("", "String", "Berth")}'
            f"{cell('', 'String', 'Share')}{cell('', 'String', 'From')}</ss:Row><ss:Row>"
            f"{cell('', 'String', 'B-17')}{cell(share, 'Number', '0.075')}"
            f"{cell(date, 'DateTime', '2026-03-05T00:00:00.000')}</ss:Row>"
            f'<ss:Row ss:Hidden="1">{cell("", "String", "B-18")}</ss:Row>'
            "</ss:Table></ss:Worksheet></ss:Workbook>"
        )

        [page] = parse(text, "a.xls").pages

        assert page.text == (
            "# Fees\n\n| Berth | Share | From |\n| --- | --- | --- |\n| B-17 | 7.5% | 2026-03-05 |"
        )
        assert page.unseen == (("B-18", "hidden"),)


class TestHostileSheets:
    @pytest.mark.parametrize(
        "cells",
        ['<row r="1"><c r="ZZZZZZZ1"><v>1</v></c></row>', '<row r="1"><c><v>x</v></c></row>'],
    )
    def test_are_refused(self, refusal, cells):
        assert refusal(with_cells(cells), "a.xlsx") == "damaged_file"

    def test_with_values_far_apart_take_little_time(self, parse):
        cells = "".join(
            f'<row r="{row}"><c r="A{row}"><v>1</v></c></row>' for row in (1, 1_048_576)
        )

        assert parse(with_cells(cells), "a.xlsx").pages[0].text == "1\n\n1"
