"""Jupyter notebooks: Markdown cells, code, and the text that code printed; a page for each top
heading."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.markdown import add_markdown
from documents.parsing.text import read_text


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    try:
        cells = json.loads(text)["cells"]
        parts = [part for cell in cells for part in _read_cell(cell)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unparsable(
            "wrong_format",
            "The file is not a valid notebook of version 4.",
            fix="Open it in Jupyter and save it again.",
        ) from error
    add_markdown("\n\n".join(part for part in parts if part.strip()), draft)


def _read_cell(cell: dict[str, Any]) -> Iterator[str]:
    source = _join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield f"```\n{source}\n```"
    for output in cell.get("outputs", []):
        printed = output.get("text") or output.get("data", {}).get("text/plain", "")
        if shown := _join(printed).strip():
            yield f"```\n{shown}\n```"


def _join(lines: str | list[str]) -> str:
    """Notebooks store a text as one string or as its lines."""
    return lines if isinstance(lines, str) else "".join(lines)
