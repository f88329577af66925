"""Plain text in any encoding: one page, exactly as written."""

from pathlib import Path

from documents.parsing.document import DocumentDraft
from documents.parsing.encodings import decode_text


def read(path: Path, draft: DocumentDraft) -> None:
    draft.add_page(read_text(path, draft))


def read_text(path: Path, draft: DocumentDraft, *, declared: str | None = None) -> str:
    """Decode the file; first refuse one whose size alone shows too much text (at most 4 bytes a
    character)."""
    draft.check_char_count(path.stat().st_size // 4)
    return decode_text(path.read_bytes(), draft, declared=declared)
