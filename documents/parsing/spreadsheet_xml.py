"""Spreadsheets in the XML of Excel 2003, which programs also name .xls: a page for each sheet."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lxml import etree

from documents.parsing.archives import make_xml_parser
from documents.parsing.blocks import Cell, fill_merged_cells, format_sheet
from documents.parsing.document import DocumentDraft, UnseenText
from text.cell_formats import GENERAL, format_value

NAMESPACE: Final = "urn:schemas-microsoft-com:office:spreadsheet"
_SS: Final = f"{{{NAMESPACE}}}"
_HIDDEN: Final = "string(*[local-name()='WorksheetOptions']/*[local-name()='Visible'])"
MAX_COLUMNS: Final = 2**14
_FORMATS: Final = {
    "Fixed": "0.00", "Standard": "#,##0.00", "Percent": "0.00%", "Short Date": "yyyy-mm-dd",
    "General Date": "yyyy-mm-dd h:mm", "Currency": '"$"#,##0.00', "Scientific": "0.00E+00",
}  # fmt: skip


def read(path: Path, draft: DocumentDraft) -> None:
    root = etree.fromstring(path.read_bytes(), make_xml_parser())
    formats = {
        style.get(f"{_SS}ID"): code
        for style in root.iter(f"{_SS}Style")
        for number in style.iterchildren(f"{_SS}NumberFormat")
        if (code := number.get(f"{_SS}Format"))
    }
    for sheet in root.iter(f"{_SS}Worksheet"):
        name = sheet.get(f"{_SS}Name", "")
        hidden: list[str] = []
        text = format_sheet(fill_merged_cells(_read_rows(sheet, formats, hidden, draft)), name)
        if sheet.xpath(_HIDDEN):
            hidden.append(text)
            text = ""
        draft.add_page(text, name, unseen=[UnseenText(each, "hidden") for each in hidden])


def _read_rows(
    sheet: Any, formats: dict[str, str], hidden: list[str], draft: DocumentDraft
) -> Iterator[list[Cell]]:
    number = 0
    char_count = draft.char_count
    for row in sheet.iter(f"{_SS}Row"):
        start = int(row.get(f"{_SS}Index", number + 1))
        if start > number + 1:
            yield []
        number = start
        cells: list[Cell] = []
        width = 0
        for cell in row.iterchildren(f"{_SS}Cell"):
            column = min(int(cell.get(f"{_SS}Index", 0)) - 1, MAX_COLUMNS)
            cells += [Cell("")] * (column - width)
            text = _read_value(cell, formats)
            down = min(int(cell.get(f"{_SS}MergeDown", 0)), draft.limits.max_pages)
            across = min(int(cell.get(f"{_SS}MergeAcross", 0)), MAX_COLUMNS)
            cells.append(Cell(text, down + 1, across + 1))
            width = max(width, column) + across + 1
            char_count += len(text) + 1
        draft.check_char_count(char_count + len(cells))
        if row.get(f"{_SS}Hidden") == "1":
            hidden.append("\t".join(cell.text for cell in cells if cell.text))
        else:
            yield cells


def _read_value(cell: Any, formats: dict[str, str]) -> str:
    data = cell.find(f"{_SS}Data")
    if data is None:
        return ""
    text = "".join(data.itertext())
    code = formats.get(cell.get(f"{_SS}StyleID"), GENERAL)
    code = _FORMATS.get(code, code)
    match data.get(f"{_SS}Type"):
        case "Number":
            return format_value(float(text), code)
        case "DateTime" if code != GENERAL:
            days = datetime.fromisoformat(text) - datetime(1899, 12, 30)
            return format_value(days.total_seconds() / 86_400, code)
        case "Boolean":
            return "TRUE" if text == "1" else "FALSE"
    return text
