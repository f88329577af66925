"""RTF: the text without its formatting, as one page."""

from pathlib import Path

from striprtf.striprtf import rtf_to_text

from documents.parsing.document import DocumentDraft
from documents.parsing.text import read_text


def read(path: Path, draft: DocumentDraft) -> None:
    # RTF is ASCII; other characters are escaped, in the code page that the file names.
    text = rtf_to_text(read_text(path, draft), errors="replace")  # type: ignore[no-untyped-call]
    draft.add_page(text.strip())
