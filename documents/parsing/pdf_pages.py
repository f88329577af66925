"""The text of a PDF's pages as people see them, and what is left out of it."""

import io
import re
from dataclasses import dataclass, field

import pypdfium2
import pypdfium2.raw as pdfium

from documents.parsing.document import UnseenText
from documents.parsing.pdf_forms import FormFields
from documents.parsing.pdf_visibility import has_layers, remove_unseen

MIN_LINES_OF_HALF = 5  # of a spread

# PDFium marks a word broken at a line's end with U+FFFE in place of the hyphen.
_BROKEN_WORD = re.compile("[\ufffe\u0002](?:\r?\n)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # glyphs of fonts without a Unicode map
# The ligature of lam and alef after the article's alef: its letters come in the wrong order.
LAM_ALEF = re.compile("ا([أإآ])ل")


@dataclass(slots=True)
class Sheet:
    """A page. ``has_picture``: apart from its text. ``is_spread``: it is two pages side by side."""

    text: str = ""
    unseen: list[UnseenText] = field(default_factory=list)
    has_picture: bool = False
    is_spread: bool = False
    is_damaged: bool = False


class PageLoader:
    """Loads the pages of a document, from which it takes what nobody sees."""

    def __init__(self, document: pypdfium2.PdfDocument, content: bytes) -> None:
        self.fields = FormFields(document)
        self.has_changed = False  # a page of the document
        self._document = document
        self._has_layers = has_layers(content)

    def load(self, index: int) -> tuple[pypdfium2.PdfPage, list[UnseenText], bool]:
        """A page, what was taken off it, and whether it has a picture. Raises
        ``pypdfium2.PdfiumError``."""
        page = self._document[index]
        has_drawn, unseen = self.fields.draw(page)
        if has_drawn:
            page.close()
            page = self._document[index]
        removed, has_picture = remove_unseen(self._document, page, has_layers=self._has_layers)
        if removed:
            pdfium.FPDFPage_GenerateContent(page)
        self.has_changed |= has_drawn or bool(removed)
        return page, [*unseen, *removed], has_picture

    def read(self, index: int) -> Sheet:
        try:
            page, unseen, has_picture = self.load(index)
            text_page = page.get_textpage()
            sheet = Sheet(
                text=self.fields.restore(clean(text_page.get_text_range())),
                unseen=unseen,
                has_picture=has_picture,
                is_spread=_is_spread(page, text_page),
            )
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError:
            return Sheet(is_damaged=True)
        return sheet

    def save(self) -> bytes:
        """The document with the pages as they were loaded."""
        stream = io.BytesIO()
        self._document.save(stream)
        return stream.getvalue()


def clean(text: str) -> str:
    text = _BROKEN_WORD.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return LAM_ALEF.sub(r"ال\1", _CONTROL.sub("", text))


def _is_spread(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage) -> bool:
    """Whether the page is two pages side by side: its lines keep to the left or to the right half,
    and some of both are as long as lines of prose. LiteParse would read across both."""
    width, height = page.get_size()
    if width <= height:
        return False
    rectangles = map(text_page.get_rect, range(text_page.count_rects()))
    lines = [(left, right) for left, _, right, _ in rectangles]
    if any(left < width / 2 < right for left, right in lines):
        return False
    long_lines = [left < width / 2 for left, right in lines if right - left > width / 4]
    return MIN_LINES_OF_HALF <= sum(long_lines) <= len(long_lines) - MIN_LINES_OF_HALF
