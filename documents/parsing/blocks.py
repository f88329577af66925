"""Join text blocks (headings, paragraphs, list elements, table rows) into pages.

Headings are written in Markdown, so that sources and chunks of every format can find the heading
they are under; so are tables, a line for each row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from documents.parsing.document import DocumentDraft

# Financial tables put these into a column of their own.
_CURRENCY_SIGNS = {"$", "€", "£", "¥"}


@dataclass(frozen=True, slots=True)
class Block:
    """``level`` is a heading's (1–6), 0 for others; blocks with the same ``run`` are joined by one
    line break, and so is a table with the block before it, which is its caption."""

    text: str
    level: int = 0
    run: str = ""  # "list" or "table"


def join_blocks(blocks: Iterable[Block]) -> str:
    parts: list[str] = []
    run = ""
    for block in blocks:
        if parts:
            is_joined = block.run == "table" or (block.run and block.run == run)
            parts.append("\n" if is_joined else "\n\n")
        run = block.run
        parts.append(f"{'#' * block.level} {block.text}" if block.level else block.text)
    return "".join(parts)


def add_sections(draft: DocumentDraft, blocks: Iterable[Block]) -> None:
    """Add a page for each heading of the highest level, and one for text before the first.

    The first such heading is the title if the document has none.
    """
    blocks = list(blocks)
    top = min((block.level for block in blocks if block.level), default=0)
    sections: list[list[Block]] = []
    for block in blocks:
        if not sections or 0 < block.level == top:
            sections.append([])
        sections[-1].append(block)
    for section in sections:
        label = section[0].text if 0 < section[0].level == top else ""
        draft.propose_title(label)
        draft.add_page(join_blocks(section), label)


def format_sheet(rows: Iterable[Sequence[str]]) -> str:
    """One table for each run of rows that are not empty."""
    tables = (format_table(table) for is_filled, table in groupby(rows, key=any) if is_filled)
    return "\n\n".join(map(join_blocks, tables))


def format_table(rows: Iterable[Sequence[str]]) -> list[Block]:
    """The rows as Markdown; the first is the header. Empty rows and columns are left out, and a
    table of one column is written as lines of text."""
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [_join_currency_signs(row) for row in cells if any(row)]
    columns = sorted({column for row in filled for column, cell in enumerate(row) if cell})
    if len(columns) < 2:
        return [Block(row[column], run="table") for row in filled for column in columns]
    lines = [
        _format_row([row[column] if column < len(row) else "" for column in columns])
        for row in filled
    ]
    lines.insert(1, _format_row(["---"] * len(columns)))
    return [Block(line, run="table") for line in lines]


def _join_currency_signs(row: list[str]) -> list[str]:
    """``$ | 1,488`` becomes ``| $1,488``."""
    for at in range(len(row) - 1):
        if row[at] in _CURRENCY_SIGNS and row[at + 1]:
            row[at], row[at + 1] = "", row[at] + row[at + 1]
    return row


def _format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
