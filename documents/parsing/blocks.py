"""Join text blocks (headings, paragraphs, list elements, table rows) into pages.

Headings are written in Markdown, so that sources and chunks of every format can find the heading
they are under; so are tables, a line for each row.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import NamedTuple

from documents.parsing.document import DocumentDraft, UnseenText

# Financial tables put these into a column of their own.
_CURRENCY_SIGNS = {"$", "€", "£", "¥"}
# What programs name a sheet if the author does not.
_SHEET_NUMBER = re.compile(
    r"(sheet|tabelle|feuil|hoja|foglio|planilha|blad|лист) ?\d*", re.IGNORECASE
)
LIST_INDENT = "    "  # of a list in a list
PAGE_NUMBER = "\uffff"  # in place of one, in the text of a header or footer
_GAP = re.compile(r"\s*[\t\n|]\s*|\s+---")


@dataclass(frozen=True, slots=True)
class Block:
    """``level`` is a heading's (1–6), 0 for others; blocks with the same ``run`` are joined by one
    line break, and so is a table with the block before it, which is its caption. A block without
    text only carries what is ``unseen`` at its place."""

    text: str
    level: int = 0
    run: str = ""  # "list" or "table"
    unseen: tuple[UnseenText, ...] = ()


class Cell(NamedTuple):
    """A cell of a table, how many rows and columns it fills, and whether it is a heading."""

    text: str
    row_count: int = 1
    column_count: int = 1
    is_header: bool = False


class Row(list[str]):
    """The texts of a row. ``spans``: of the cells that fill several columns, by their first column,
    how many; ``is_header``: the file says that it is one."""

    def __init__(
        self,
        cells: Iterable[str] = (),
        spans: dict[int, int] | None = None,
        is_header: bool = False,
    ) -> None:
        super().__init__(cells)
        self.spans = spans or {}
        self.is_header = is_header


def join_blocks(blocks: Iterable[Block]) -> str:
    parts: list[str] = []
    run = ""
    for block in blocks:
        if not block.text:
            continue
        if parts:
            is_joined = block.run == "table" or (block.run and block.run == run)
            parts.append("\n" if is_joined else "\n\n")
        run = block.run
        parts.append(f"{'#' * block.level} {block.text}" if block.level else block.text)
    return "".join(parts)


def read_margin(blocks: Iterable[Block]) -> list[str]:
    """The texts of a header or footer, without what names the number of the page."""
    texts = (
        " ".join(part for part in _GAP.split(block.text) if part and PAGE_NUMBER not in part)
        for block in blocks
    )
    return [text for text in texts if any(map(str.isalnum, text))]


def put_margins(
    blocks: Iterable[Block], headers: Iterable[str], footers: Iterable[str]
) -> Iterator[Block]:
    """The blocks of a document between its headers, which stand below a heading that it begins
    with, and its footers; each text once."""
    above = list(dict.fromkeys(headers))
    for block in blocks:
        if block.level:
            yield block
        if block.text:
            yield from map(Block, above)
            above = []
        if not block.level:
            yield block
    yield from map(Block, dict.fromkeys([*above, *footers]))


def add_sections(draft: DocumentDraft, blocks: Iterable[Block]) -> None:
    """Add a page for each heading of the highest level, and one for text before the first.

    The first such heading is the title if the document has none.
    """
    blocks = list(blocks)
    top = min((block.level for block in blocks if block.level), default=0)
    sections: list[list[Block]] = []
    for block in blocks:
        begins = 0 < block.level == top
        if not sections or (begins and any(each.text for each in sections[-1])):
            sections.append([])
        sections[-1].append(block)
    for section in sections:
        first = next(filter(attrgetter("text"), section), section[0])
        label = first.text if 0 < first.level == top else ""
        draft.propose_title(label)
        unseen = [each for block in section for each in block.unseen]
        draft.add_page(join_blocks(section), label, unseen=unseen)


def add_pages(
    draft: DocumentDraft, parts: Iterable[tuple[int | None, Iterable[Block]]], count: int = 0
) -> None:
    """Add parts of pages, each with the number of its page, or None for that of the part before;
    also pages without blocks, up to ``count``. If no part has a number, add sections."""
    pages: dict[int, list[Block]] = defaultdict(list)
    last = 0
    for number, blocks in parts:
        last = number or last
        pages[last] += blocks
    if not count and not any(pages):
        add_sections(draft, pages[0])
        return
    top = [block.text for blocks in pages.values() for block in blocks if block.level == 1]
    draft.propose_title(top[0] if len(top) == 1 else "")
    for number in range(1, max([count, *pages]) + 1):
        draft.add_page(join_blocks(pages.get(number, ())))


def format_sheet(rows: Iterable[Sequence[str]], name: str) -> str:
    """The sheet's name as a heading, and one table for each run of rows that are not empty."""
    runs = (format_table(table) for is_filled, table in groupby(rows, key=any) if is_filled)
    tables = list(map(join_blocks, runs))
    heading = [] if not tables or _SHEET_NUMBER.fullmatch(name) else [f"# {' '.join(name.split())}"]
    return "\n\n".join([*heading, *tables])


def join_in_cell(blocks: Iterable[Block]) -> str:
    """The text of blocks in a cell; a table in a table cannot be written, so its marks are left
    out."""
    return " ".join(
        word
        for block in blocks
        for word in block.text.split()
        if block.run != "table" or word not in {"|", "---"}
    )


def fill_merged_cells(rows: Iterable[Iterable[Cell]]) -> list[Row]:
    """The texts of rows that name each merged cell once. A cell of several rows is repeated in each
    of them; one of several columns is followed by empty ones. A row that only begins such cells,
    which the next one repeats, is left out."""
    open_cells: dict[int, Cell] = {}  # by column, with the rows that they still fill
    filled: list[Row] = []
    has_own_text: list[bool] = []
    for row_cells in rows:
        cells = [*row_cells]
        row = Row(is_header=len(cells) > 1 and all(cell.is_header for cell in cells))
        has_own_text.append(False)
        for cell in [*cells, None]:
            while above := open_cells.pop(len(row), None):
                _add_cell(row, above, open_cells)
            if cell is not None:
                has_own_text[-1] |= bool(cell.text) and cell.row_count == 1
                _add_cell(row, cell, open_cells)
        filled.append(row)
    return [
        row
        for row, has_own, below in zip(filled, has_own_text, [*filled[1:], []], strict=True)
        if has_own
        or not any(row)
        or any(text not in {"", next_} for text, next_ in zip_longest(row, below, fillvalue=""))
    ]


def _add_cell(row: Row, cell: Cell, open_cells: dict[int, Cell]) -> None:
    if cell.row_count > 1:
        open_cells[len(row)] = cell._replace(row_count=cell.row_count - 1)
    if cell.column_count > 1:
        row.spans[len(row)] = cell.column_count
    row += [cell.text, *[""] * (cell.column_count - 1)]


def format_table(
    rows: Iterable[Sequence[str]], *, may_have_one_column: bool = False
) -> list[Block]:
    """The rows as Markdown. Titles above the header are lines of text, and header rows below each
    other are joined into one. Empty rows and columns are left out. A table of one column is
    written as lines of text, unless it may have one."""
    cells = [_clean_row(row) for row in rows]
    filled = [row for row in cells if any(row)]
    columns = sorted({column for row in filled for column, cell in enumerate(row) if cell})
    if len(columns) < 2 and not (columns and may_have_one_column):
        return [Block(row[column], run="table") for row in filled for column in columns]
    titles = []
    while len(filled) > 1 and _is_title(filled[0], columns):
        titles.append(Block("".join(filled.pop(0)), run="title"))
    filled = _join_header_rows(filled)
    lines = [
        _format_row([row[column] if column < len(row) else "" for column in columns])
        for row in filled
    ]
    lines.insert(1, _format_row(["---"] * len(columns)))
    return [*titles, *(Block(line, run="table") for line in lines)]


def _clean_row(row: Sequence[str]) -> Row:
    cells = [" ".join(cell.split()) for cell in row]
    spans, is_header = (row.spans, row.is_header) if isinstance(row, Row) else (None, False)
    return Row(_join_currency_signs(cells), spans, is_header)


def _is_title(row: Row, columns: Sequence[int]) -> bool:
    """Whether only its first cell is filled, over or beside columns that have nothing else."""
    is_wide = len(columns) > 2 or row.spans.get(columns[0], 1) >= len(columns) > 1
    return is_wide and [at for at, cell in enumerate(row) if cell] == [columns[0]]


def _join_header_rows(rows: list[Row]) -> list[Row]:
    """Join the second row to the first while the file says that both are headers, or each wide cell
    of the first stands above several others of the second, which are not yet data."""
    while len(rows) > 1:
        first, second = rows[0], rows[1]
        bands = [second[at : at + count] for at, count in first.spans.items() if first[at]]
        has_parts = bool(bands) and all(len({*band} - {""}) > 1 for band in bands)
        is_tall = any(cell and cell == below for cell, below in zip(first, second, strict=False))
        is_above_numbers = not any(map(_has_digit, second)) and any(
            cell
            and len(below := {row[at] for row in rows[2:] if at < len(row)} - {""})
            and all(map(_has_digit, below))
            for at, cell in enumerate(second)
        )
        is_repeated = len(bands) > 1 and all(band == bands[0] for band in bands)
        if not (first.is_header and second.is_header) and not (
            has_parts and len(rows) > 2 and (is_tall or is_above_numbers or is_repeated)
        ):
            break
        above = first + [""] * (len(second) - len(first))
        for at, count in first.spans.items():
            above[at : at + count] = [first[at]] * len(above[at : at + count])
        joined = (
            " ".join(dict.fromkeys(filter(None, pair)))
            for pair in zip_longest(above, second, fillvalue="")
        )
        rows = [Row(joined, second.spans, second.is_header), *rows[2:]]
    return rows


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _join_currency_signs(row: list[str]) -> list[str]:
    """``$ | 1,488`` becomes ``| $1,488``."""
    for at in range(len(row) - 1):
        if row[at] in _CURRENCY_SIGNS and row[at + 1]:
            row[at], row[at + 1] = "", row[at] + row[at + 1]
    return row


def _format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
