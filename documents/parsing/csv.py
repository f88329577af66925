"""CSV and TSV: one page with one table."""

import csv
import io
from pathlib import Path

from documents.parsing.blocks import format_table, join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.text import read_text

_DELIMITERS = ",;\t|"


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    csv.field_size_limit(max(len(text), 1))  # the file's size is limited already
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_detect_delimiter(text))
    draft.add_page(join_blocks(format_table(rows)))


def _detect_delimiter(text: str) -> str:
    """The delimiter that occurs equally often in most of the first lines; a comma if none does."""
    lines = [line for line in text[:65_536].splitlines()[:50] if line.strip()][:-1] or [text[:4096]]

    def agreement(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        expected = counts[0]
        return (sum(count == expected for count in counts) if expected else 0, expected)

    return max(_DELIMITERS, key=agreement)
