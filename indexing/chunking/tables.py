"""Find the tables of a Markdown text, so that a chunk that continues one can have its header."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

MAX_CAPTION_CHARS = 150
MAX_HEADER_CHARS = 300  # of the caption and the header; wide tables have many columns
_TABLE = re.compile(r"^(?P<header>\|[^\n]*)\n\|[ :|-]+$(?:\n\|[^\n]*)*", re.M)


class Table(NamedTuple):
    """``header``: its caption, the line that stands directly above it, and the cells of its first
    row."""

    start: int
    end: int
    header: str


def find_tables(text: str) -> list[Table]:
    tables = []
    for found in _TABLE.finditer(text):
        above = text[: found.start()].removesuffix("\n")
        caption = above[above.rfind("\n") + 1 :].lstrip("# ")[:MAX_CAPTION_CHARS]
        cells = re.split(r"(?<!\\)\|", found["header"])
        header = " ".join(" ".join([caption, *cells]).split()).replace(r"\|", "|")
        tables.append(Table(found.start(), found.end(), header[:MAX_HEADER_CHARS]))
    return tables


def find_continued_header(tables: Sequence[Table], position: int) -> str:
    """The header of the table that began before this position and does not end there; may be
    empty."""
    at = bisect_left(tables, position, key=lambda table: table.start) - 1
    return tables[at].header if at >= 0 and position < tables[at].end else ""
