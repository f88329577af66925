"""Excel: one page for each sheet, one table for each run of rows, formulas by their last value."""

import datetime
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from openpyxl.reader.excel import ExcelReader
from openpyxl.utils import range_boundaries

from documents.parsing.archives import check_office_archive
from documents.parsing.blocks import format_sheet
from documents.parsing.document import DocumentDraft

# Row -> the columns in which a cell begins that is merged with those below, and its last row.
MergedCells = dict[int, list[tuple[int, int]]]


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    # A stream, because openpyxl requires a suffix in a path, and originals have none.
    with path.open("rb") as stream:
        reader = ExcelReader(stream, read_only=True, data_only=True)
        reader.read()
        draft.propose_title(reader.wb.properties.title)
        draft.check_page_count(len(reader.wb.worksheets))
        parts = {sheet.name: relation.target for sheet, relation in reader.parser.find_sheets()}
        for sheet in reader.wb.worksheets:
            with reader.archive.open(parts[sheet.title]) as part:
                merged = _find_merged_cells(part)
            rows = _read_rows(sheet, merged, draft)
            draft.add_page(format_sheet(rows, sheet.title), sheet.title)


def _find_merged_cells(part: IO[bytes]) -> MergedCells:
    """They stand behind all rows, and openpyxl finds them only if it keeps the whole sheet."""
    found: MergedCells = defaultdict(list)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "mergeCell":
            column, first, _, last = range_boundaries(attributes["ref"])
            found[first].append((column - 1, last))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.ParseFile(part)
    return found


def _read_rows(sheet: Any, merged: MergedCells, draft: DocumentDraft) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # declared dimensions are often wrong and would hide rows
    char_count = draft.char_count
    repeated: dict[int, tuple[str, int]] = {}  # by column: the text, and the last row that has it
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_cell_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        repeated = {column: each for column, each in repeated.items() if number <= each[1]}
        if cells:
            for column, (text, _) in repeated.items():
                cells += [""] * (column + 1 - len(cells))
                cells[column] = cells[column] or text
        for column, last in merged.get(number, ()):
            if column < len(cells):
                repeated[column] = cells[column], last
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
