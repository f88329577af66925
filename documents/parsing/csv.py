"""CSV and TSV: one page with the lines above the table, and the table."""

import csv
import io
import re
from collections import Counter
from itertools import takewhile
from pathlib import Path

from documents.parsing.blocks import Block, format_table, join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.text import read_text

_DELIMITERS = ";\t|,"  # a comma last: it is in numbers, too
SAMPLE_ROWS = 50
_SEPARATOR_LINE = re.compile(
    r'"?sep=([^\w\s"]|\t)"?[ ]*(?:\r\n?|\n|$)', re.IGNORECASE
)  # as Excel's
_QUOTED = re.compile(r'"[^"\n]*"')
_LOOSE_QUOTE = "\x1a"  # a character that no text has, while the rows are split
# Kinds of value that no header has.
_DATE = re.compile(r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}).{0,20}")
_DECIMAL = re.compile(r"[-+]?[\d.,']*\d[.,]\d+")


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    csv.field_size_limit(max(len(text), 1))  # the file's size is limited already
    declared = _SEPARATOR_LINE.match(text)
    text = text[declared.end() :] if declared else text
    delimiter = declared[1] if declared else _detect_delimiter(text)
    rows = _split_rows(text, delimiter)
    widths = Counter(map(_count_values, rows[:SAMPLE_ROWS]))
    width = max(widths, key=lambda each: widths[each] * each, default=0)
    # Above the table, a line with fewer values than half a row is no row.
    above = list(takewhile(lambda row: _count_values(row) <= width // 2, rows[:SAMPLE_ROWS]))
    lines = [Block(f"{delimiter} ".join(filter(None, row)), run="title") for row in above]
    rows = rows[len(above) :]
    table = format_table(rows)
    if len(table) > 3 and table[0].run == "table" and not _has_header(rows[:SAMPLE_ROWS]):
        separator = table.pop(1)
        table = [Block(separator.text.replace("---", ""), run="table"), separator, *table]
    draft.add_page(join_blocks([*(line for line in lines if line.text), *table]))


def _count_values(row: list[str]) -> int:
    return sum(map(bool, row))


def _split_rows(text: str, delimiter: str) -> list[list[str]]:
    """The rows without empty values at their ends. A quotation mark inside a value stays, such as
    that of inches, though it should be doubled."""
    edge = re.escape(delimiter)
    text = re.sub(rf'(?<=[{edge}\r\n]) ++(?=")', "", text)
    text = re.sub(
        rf'(?<=[^{edge}\r\n"])"(?!"| *+(?:[{edge}\r\n]|$))', _LOOSE_QUOTE, text.removesuffix("\n")
    )
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if rows and rows[-1] and rows[-1][-1].count("\n") > 1 and not text.endswith('"'):
        # A value that opens a quotation and does not end it is not the rest of the file.
        unquoted = csv.reader(
            io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE
        )
        rows = list(unquoted)
    for row in rows:
        row[:] = [cell.replace(_LOOSE_QUOTE, '"').strip() for cell in row]
        while row and not row[-1]:
            row.pop()
    return rows


def _detect_delimiter(text: str) -> str:
    """The delimiter that occurs equally often in most of the first lines; a comma if none does."""
    lines = [line for line in text[:65_536].splitlines()[: SAMPLE_ROWS + 1] if line.strip()]
    lines = [_QUOTED.sub("", line) for line in lines[:-1] or [text[:4096]]]

    def agreement(delimiter: str) -> tuple[bool, int]:
        counts = Counter(line.count(delimiter) for line in lines)
        is_in_all = 0 not in counts and len(counts) == 1
        del counts[0]
        return is_in_all, max((times * count for count, times in counts.items()), default=0)

    best = max(_DELIMITERS, key=agreement)
    return best if agreement(best)[1] else ","


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row differs from the others: it has none if a value of it is a date or a
    decimal number as all below it, and none of it stands above numbers only."""
    first, others = rows[0], rows[1:]
    columns = [[row[at] for row in others if at < len(row) and row[at]] for at in range(len(first))]
    is_data = False
    for cell, column in zip(first, columns, strict=True):
        for kind in (_DATE, _DECIMAL):
            if len(column) > 1 and all(map(kind.fullmatch, column)):
                if cell and not kind.fullmatch(cell):
                    return True
                is_data = True
    return not is_data
