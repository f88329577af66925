"""PDF, by PDFium: the text of each page, labelled with the bookmark it is under."""

import re
from pathlib import Path

import pypdfium2
import pypdfium2.raw

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft

MAX_BOOKMARKS = 10_000

# PDFium marks a word broken at a line's end with U+FFFE in place of the hyphen.
_BROKEN_WORD = re.compile("[\ufffe\u0002](?:\r?\n)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # glyphs of fonts without a Unicode map


def read(path: Path, draft: DocumentDraft) -> None:
    document = _open(path)
    draft.check_page_count(len(document))
    draft.propose_title(document.get_metadata_dict().get("Title"))
    bookmarks = _bookmarks(document)
    label = ""
    for index in range(len(document)):
        label = bookmarks.get(index, label)
        draft.add_page(_page_text(document, index, draft), label)


def _open(path: Path) -> pypdfium2.PdfDocument:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code in {pypdfium2.raw.FPDF_ERR_PASSWORD, pypdfium2.raw.FPDF_ERR_SECURITY}:
            raise Unparsable(
                "encrypted_pdf",
                "The PDF is protected by a password.",
                fix="Save it without a password and try again.",
            ) from error
        raise Unparsable(
            "damaged_file",
            "The PDF is damaged and cannot be opened.",
            fix="Export or print it to PDF again.",
        ) from error
    if not len(document):
        raise Unparsable("damaged_file", "The PDF has no pages.")
    return document


def _page_text(document: pypdfium2.PdfDocument, index: int, draft: DocumentDraft) -> str:
    """The text of a page; empty if it cannot be read, so that later pages keep their index."""
    try:
        page = document[index]
        text_page = page.get_textpage()
        text = text_page.get_text_range()
        text_page.close()
        page.close()
    except pypdfium2.PdfiumError:
        draft.warn("unreadable_page", f"Page {index + 1} is damaged; it was left empty.")
        return ""
    text = _BROKEN_WORD.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def _bookmarks(document: pypdfium2.PdfDocument) -> dict[int, str]:
    """The last bookmark of each page that has one; none if the outline is broken."""
    titles: dict[int, str] = {}
    try:
        for count, bookmark in enumerate(document.get_toc(max_depth=4)):
            if count == MAX_BOOKMARKS:
                break
            destination = bookmark.get_dest()
            index = destination.get_index() if destination else None
            if index is not None:
                titles[index] = bookmark.get_title()
    except (pypdfium2.PdfiumError, UnicodeError, ValueError):
        return {}
    return titles
