"""JSON Lines: one page with a paragraph for each line."""

from pathlib import Path

from documents.parsing.document import DocumentDraft
from documents.parsing.json import flatten_to_lines, load_with_text_numbers
from documents.parsing.text import read_text


def read(path: Path, draft: DocumentDraft) -> None:
    paragraphs: list[str] = []
    for number, line in enumerate(read_text(path, draft).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            paragraphs.append(flatten_to_lines(load_with_text_numbers(line), draft))
        except ValueError:
            draft.warn("invalid_line", f"Line {number} is not valid JSON; it was kept as written.")
            paragraphs.append(line.strip())
    draft.add_page("\n\n".join(paragraph for paragraph in paragraphs if paragraph))
