"""Write tables as Markdown, a line for each row."""

from collections.abc import Iterable, Sequence

from documents.parsing.sections import Block

# Financial tables put these into a column of their own.
_CURRENCY_SIGNS = {"$", "€", "£", "¥"}


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
