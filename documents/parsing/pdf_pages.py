"""The text of a PDF's pages as people see them, and what is left out of it."""

import io
from collections import Counter
from dataclasses import dataclass, field

import pypdfium2
import pypdfium2.raw as pdfium

from documents.parsing.document import UnseenText
from documents.parsing.pdf_fonts import may_be_unreadable, remove_unreadable
from documents.parsing.pdf_forms import FormFields
from documents.parsing.pdf_letters import Script, clean, find_scripts, write_scripts
from documents.parsing.pdf_visibility import has_layers, remove_unseen

MIN_LINES_OF_HALF = 5  # of a spread


@dataclass(slots=True)
class Sheet:
    """A page. ``has_picture``: apart from its text. ``is_spread``: it is two pages side by side."""

    text: str = ""
    unseen: list[UnseenText] = field(default_factory=list)
    scripts: Counter[Script] = field(default_factory=Counter)
    unreadable_chars: int = 0
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
            self.has_changed = True
            page.close()
            page = self._document[index]
        removed, has_picture = remove_unseen(self._document, page, has_layers=self._has_layers)
        if removed:
            self._keep(page)
        return page, [*unseen, *removed], has_picture

    def read(self, index: int) -> Sheet:
        try:
            page, unseen, has_picture = self.load(index)
            text_page = page.get_textpage()
            text = text_page.get_text_range()
            unreadable_chars = 0
            if may_be_unreadable(text):
                unreadable_chars = remove_unreadable(page, text_page)
            if unreadable_chars:
                self._keep(page)
                text_page.close()
                text_page = page.get_textpage()
                text = text_page.get_text_range()
            scripts = find_scripts(text_page, text)
            sheet = Sheet(
                text=self.restore(clean(text), scripts),
                unseen=unseen,
                scripts=scripts,
                unreadable_chars=unreadable_chars,
                has_picture=has_picture,
                is_spread=_is_spread(page, text_page),
            )
            text_page.close()
            page.close()
        except pypdfium2.PdfiumError:
            return Sheet(is_damaged=True)
        return sheet

    def _keep(self, page: pypdfium2.PdfPage) -> None:
        """Keep the changes of a page in the document."""
        pdfium.FPDFPage_GenerateContent(page)
        self.has_changed = True

    def restore(self, text: str, scripts: Counter[Script]) -> str:
        """The text of a page, or its Markdown, with what the readers could not write."""
        return self.fields.restore(write_scripts(text, scripts))

    def save(self) -> bytes:
        """The document with the pages as they were loaded."""
        stream = io.BytesIO()
        self._document.save(stream)
        return stream.getvalue()


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
