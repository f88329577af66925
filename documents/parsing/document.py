"""The result of a reader, and the limits it works under.

Only ``DocumentDraft`` cleans and counts text, so that no reader can forget to."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from core.text import clean_name, clean_page, clean_text, shorten
from documents.exceptions import Unparsable
from documents.parsing import ocr
from documents.parsing.ocr import Recognised

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_LABEL_CHARS = 500

MAX_FILES = 1_000  # of a ZIP or an e-mail, which become documents of their own
MAX_SHOWN_NAMES = 3  # of files in it that are left out, so that a warning is no longer than a label
MAX_SHOWN_NAME_CHARS = 120
MAX_SHOWN_PAGES = 10

# Why text is not seen.
REASONS = {
    "hidden": "marked as hidden in the file",
    "deleted": "deleted or struck out",
    "invisible": "drawn invisibly",
    "colour": "in the colour of what is behind it",
    "covered": "below a picture or a shape",
    "outside": "outside the page, or the part of it that is drawn",
    "tiny": "too small to read",
}

# Receives a part of the content of a file with this name; parts of one file follow each other.
FileReceiver = Callable[[str, bytes], None]
# Reads a page, by its index, from a picture that is drawn only if needed; told the number of pages.
PageReader = Callable[[int, int, Callable[[], "Image"]], Recognised]

# Titles that programs write if the author gave none.
_PLACEHOLDER_TITLES = {
    "document",
    "powerpoint presentation",
    "presentation",
    "slide 1",
    "unknown",
    "(anonymous)",
    "untitled",
    "word document",
}
_FILE_NAME_TITLE = re.compile(
    r"microsoft (?:word|powerpoint|excel) - .*"
    r"|\S+\.(?:docx?|odt|pdf|pptx?|odp|xlsx?|rtf|tex|indd|qxd|html?)",
    re.IGNORECASE,
)
_WORD_SEPARATOR = re.compile(r"_+|-+(?=\D)|(?<=\D)-+")  # hyphens inside numbers and dates stay


# A spreadsheet of 2 KB with a value in its last column has thousands of empty cells in that row.
MIN_SEPARATORS = 5_000  # characters other than letters, digits and white space
MAX_SEPARATORS_PER_LETTER = 50


@dataclass(frozen=True, slots=True)
class ParseWarning:
    """A problem with a document that could still be read. ``page_indexes``: the pages that have
    it, if it is one of pages."""

    code: str
    detail: str
    page_indexes: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        about = {"code": self.code, "detail": self.detail}
        return about | {"page_indexes": [*self.page_indexes]} if self.page_indexes else about


class UnseenText(NamedTuple):
    """Text of a page that a person who looks at the page does not see, and why not: one of
    ``REASONS``."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One page, in the format's own sense: page, slide, sheet, chapter or section.

    ``label`` is what people call it ("Slide 3: Results", a sheet's name, a heading); may be empty.
    ``ocr_lines``: of each line that OCR read, see ``Recognised``.
    ``unseen`` is not part of ``text``; ``unreadable_chars`` are drawn on the page, but the file
    does not say which letters they are, so they are left out.
    """

    text: str
    label: str = ""
    ocr_lines: Sequence[Sequence[float]] = ()
    unseen: Sequence[UnseenText] = ()
    unreadable_chars: int = 0


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file's pages, in order; a page's position is its index.

    ``title`` is the document's own (properties, or its only top heading), empty if it has none.
    ``encoding`` is set for text formats. A document without visible text has a ``no_text`` warning,
    unless it is an image.
    """

    media_type: str
    pages: tuple[ParsedPage, ...]
    title: str = ""
    encoding: str | None = None
    warnings: tuple[ParseWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one file. ``max_expanded_bytes`` counts all members of an archive."""

    seconds: float  # wall clock
    memory_bytes: int  # address space of the child process
    max_pages: int
    max_expanded_bytes: int
    max_text_chars: int

    @classmethod
    def from_settings(cls) -> "Limits":
        from django.conf import settings  # here, because child processes do not load Django

        return cls(
            seconds=settings.STRATA_PARSE_SECONDS,
            memory_bytes=settings.STRATA_PARSE_MEMORY_BYTES
            + (ocr.MEMORY_BYTES if ocr.is_installed() else 0),
            max_pages=settings.STRATA_PARSE_MAX_PAGES,
            max_expanded_bytes=settings.STRATA_PARSE_MAX_EXPANDED_BYTES,
            max_text_chars=settings.STRATA_PARSE_MAX_TEXT_CHARS,
        )


def make_memory_error() -> Unparsable:
    return Unparsable(
        "parse_memory",
        "Reading the file takes more memory than is allowed.",
        fix="Split it into several files.",
    )


def is_nearly_all_separators(text: str) -> bool:
    """Whether a long text has hardly any letters or digits, such as the cells of a sheet with
    values far apart. Its chunks would cost much and say nothing."""
    if len(text) < MIN_SEPARATORS:
        return False
    letters = sum(map(str.isalnum, text))
    separators = sum(map(len, text.split())) - letters
    return separators >= MIN_SEPARATORS and separators > MAX_SEPARATORS_PER_LETTER * letters


def title_from_file_name(file_name: str) -> str:
    """The name's words: ``ACME_annual-report_2022-03.pdf`` gives "ACME annual report 2022-03"."""
    return clean_label(_WORD_SEPARATOR.sub(" ", PurePath(file_name).stem)) or file_name


def clean_label(text: str) -> str:
    return " ".join(clean_name(text).split())[:MAX_LABEL_CHARS]


@dataclass(slots=True)
class DocumentDraft:
    """A parsed document under construction; checks limits as a reader adds pages."""

    limits: Limits
    suffix: str = ""  # of the file's name, in lower case
    pages: list[ParsedPage] = field(default_factory=list)
    warnings: list[ParseWarning] = field(default_factory=list)
    title: str = ""
    encoding: str | None = None
    char_count: int = 0
    ocr: PageReader | None = None  # None where OCR is not installed
    send_file: FileReceiver | None = None  # None where files in the file are not wanted
    file_names: dict[str, None] = field(default_factory=dict)  # of the files in the file, in order
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # see ``leave_out``

    def add_page(
        self,
        text: str,
        label: str = "",
        ocr_lines: Sequence[Sequence[float]] = (),
        *,
        unseen: Iterable[UnseenText] = (),
        unreadable_chars: int = 0,
    ) -> None:
        """Append a page; raises ``Unparsable`` if the document exceeds its limits."""
        kept = tuple(
            UnseenText(cleaned, reason)
            for text_, reason in unseen
            if (cleaned := clean_page(text_).strip())
        )
        unseen_count = sum(len(each.text) for each in kept)
        self.check_page_count(len(self.pages) + 1)
        self.check_char_count(self.char_count + len(text) + unseen_count)
        page = ParsedPage(clean_page(text), clean_label(label), ocr_lines, kept, unreadable_chars)
        if is_nearly_all_separators(page.text):
            raise Unparsable(
                "mostly_separators",
                f"Page {len(self.pages) + 1} is almost only white space and punctuation: letters "
                f"and digits are less than one in {MAX_SEPARATORS_PER_LETTER} of its characters.",
                fix="Delete the empty cells or the lines between its values, or take the page out.",
            )
        self.char_count += len(page.text) + unseen_count
        self.pages.append(page)

    def add_file(self, name: str, blocks: Iterable[bytes]) -> None:
        """Pass on a file that this one holds, to become a document of its own, with a number if
        another has its name; raises ``Unparsable`` if there are too many."""
        if len(self.file_names) == MAX_FILES:
            raise Unparsable(
                "too_large",
                f"The file holds more than {MAX_FILES:,} files.",
                fix="Split it into several.",
            )
        name = clean_text(name)
        path, numbers = PurePosixPath(name), count(2)
        while name in self.file_names:
            name = str(path.parent / f"{path.stem} ({next(numbers)}){path.suffix}")
        self.file_names[name] = None
        if self.send_file is not None:
            self.send_file(name, b"")  # an empty file has no other part
            for block in blocks:
                self.send_file(name, block)

    def leave_out(self, code: str, name: str, which: str) -> None:
        """Name a file in the file, which does not become a document, in the warning ``code``.
        ``which``: the beginning of its text, which says why."""
        self.left_out.setdefault((code, which), []).append(shorten(name, MAX_SHOWN_NAME_CHARS))

    def read_picture(self, page_count: int, render: Callable[[], "Image"]) -> Recognised:
        """The text in a picture of the next page; a warning, and no text, without OCR."""
        page = len(self.pages)
        if self.ocr is None:
            detail = f"Page {page + 1} is a picture; its text was not read."
            self.warn("scanned_page", detail, page)
            return Recognised()
        return self.ocr(page, page_count, render)

    def warn(self, code: str, detail: str, *page_indexes: int) -> None:
        """Add a warning; a code is given once, with the first detail and all its pages, which
        readers name in order."""
        for place, warning in enumerate(self.warnings):
            if warning.code == code:
                known = warning.page_indexes
                if page_indexes and page_indexes != known[-1:]:
                    self.warnings[place] = replace(warning, page_indexes=(*known, *page_indexes))
                return
        self.warnings.append(ParseWarning(code, clean_label(detail), page_indexes))

    def check_page_count(self, page_count: int) -> None:
        """Raise ``Unparsable`` if a document of so many pages is too long."""
        if page_count > self.limits.max_pages:
            raise Unparsable(
                "too_many_pages",
                f"The file has more than {self.limits.max_pages:,} pages.",
                fix="Split it into several files.",
            )

    def check_char_count(self, char_count: int) -> None:
        """Raise ``Unparsable`` if a document with so much text is too long."""
        if char_count > self.limits.max_text_chars:
            raise Unparsable(
                "too_large",
                f"The file holds more than {self.limits.max_text_chars:,} characters of text.",
                fix="Split it into several files.",
            )

    def propose_title(self, title: str | None) -> None:
        """Use the title, unless there is one already or this one says nothing about the content:
        a placeholder, a file's name or a number."""
        title = clean_label(title or "")
        if (
            not self.title
            and any(map(str.isalpha, title))
            and title.lower() not in _PLACEHOLDER_TITLES
            and _FILE_NAME_TITLE.fullmatch(title) is None
        ):
            self.title = title

    def finish(self, media_type: str) -> ParsedDocument:
        is_image = media_type.startswith("image/")
        if not is_image and not any(page.text.strip() for page in self.pages):
            self.warn("no_text", "The file holds no text.")
        self._warn_of_pages(
            "hidden_text",
            [sum(len(each.text) for each in page.unseen) for page in self.pages],
            "cannot be seen there or are struck out",
        )
        self._warn_of_pages(
            "unreadable_text",
            [page.unreadable_chars for page in self.pages],
            "are drawn in a font that does not say which letters they are; they were left out",
        )
        for (code, which), names in self.left_out.items():
            others = len(names) - MAX_SHOWN_NAMES
            more = f" and {others} others" if others > 0 else ""
            self.warn(code, f"{which}: {', '.join(names[:MAX_SHOWN_NAMES])}{more}.")
        return ParsedDocument(
            media_type=media_type,
            pages=tuple(self.pages),
            title=self.title,
            encoding=self.encoding,
            warnings=tuple(self.warnings),
        )

    def _warn_of_pages(self, code: str, char_counts: Sequence[int], what: str) -> None:
        """Say how many characters of which pages are meant; nothing if there are none."""
        indexes = [index for index, count in enumerate(char_counts) if count]
        if indexes:
            shown = ", ".join(str(index + 1) for index in indexes[:MAX_SHOWN_PAGES])
            others = len(indexes) - MAX_SHOWN_PAGES
            more = f" and {others} others" if others > 0 else ""
            pages = f"page {shown}" if len(indexes) == 1 else f"pages {shown}{more}"
            self.warn(code, f"{sum(char_counts):,} characters of {pages} {what}.", *indexes)
