"""Excel: one page for each sheet, one table for each run of rows, formulas by their last value."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl

from documents.parsing.archives import check_office_archive
from documents.parsing.blocks import format_sheet
from documents.parsing.document import DocumentDraft


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    # A stream, because openpyxl requires a suffix in a path, and originals have none.
    with path.open("rb") as stream:
        workbook = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        draft.propose_title(workbook.properties.title)
        draft.check_page_count(len(workbook.worksheets))
        for sheet in workbook.worksheets:
            draft.add_page(format_sheet(_read_rows(sheet, draft)), sheet.title)


def _read_rows(sheet: Any, draft: DocumentDraft) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # declared dimensions are often wrong and would hide rows
    char_count = draft.char_count
    for row in sheet.iter_rows(values_only=True):
        cells = [_cell_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        char_count += sum(map(len, cells)) + len(cells)
        draft.check_char_count(char_count)
        yield cells


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        return value.date().isoformat()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return " ".join(str(value).split())
