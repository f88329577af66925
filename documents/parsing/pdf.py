"""PDF: LiteParse finds headings, columns, tables and lists; PDFium checks that no text is lost.

A page is written as Markdown where LiteParse's blocks hold its letters and digits, and as PDFium's
plain text elsewhere; so is the area of a table that LiteParse makes of paragraphs.
"""

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import liteparse
import pypdfium2
import pypdfium2.raw
from liteparse.types import LayoutBlock
from markdown_it import MarkdownIt
from PIL import Image

from documents.exceptions import Unparsable
from documents.parsing import ocr
from documents.parsing.blocks import Block, format_table, join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.pdf_fonts import draw_unreadable
from documents.parsing.pdf_letters import clean
from documents.parsing.pdf_objects import draw
from documents.parsing.pdf_pages import PageLoader
from documents.running_lines import MAX_LINES, Name, find_running_lines

MAX_BOOKMARKS = 10_000
# Of the letters and digits that PDFium finds on a page. The rest may be drawn twice, or invisible.
MIN_SHARE_OF_TEXT = 0.95
# A table that LiteParse makes of paragraphs has long cells whose words do not follow each other.
MIN_WORDS_OF_PROSE = 20
MIN_BROKEN_PAIRS = 10  # of neighbouring words
MAX_TITLE_WORDS = 20
MIN_SHARE_OF_CAPITALS = 0.6
MIN_SHARE_OF_PAGES = 0.1  # that have the same running line below another one

_WORD = re.compile(r"\w+")
_UNIT = re.compile(r"\([^()]*\)$")  # at the end of a title, such as "(in millions)"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_INLINE_MARKDOWN = MarkdownIt("zero").enable(["emphasis", "strikethrough", "escape", "backticks"])


def read(path: Path, draft: DocumentDraft) -> None:
    document = open_pdf(path)
    draft.check_page_count(len(document))
    draft.propose_title(document.get_metadata_dict().get("Title"))
    bookmarks = _bookmarks(document)
    content = path.read_bytes()
    pages = PageLoader(document, content)
    sheets = [pages.read(index) for index in range(len(document))]
    if pages.fields.is_unread:
        draft.warn("xfa_form", "The form's fields are in XFA, which is not read.")
    if pages.has_changed:
        content = pages.save()
    layout = {} if _is_endless(document) else _read_layout(content)
    if not layout:
        draft.warn("plain_page", "The PDF was read without headings and tables.")
    if spreads := [index for index in layout if sheets[index].is_spread]:
        left, right = (
            _read_layout(content, spreads, crop_box)
            for crop_box in ((0, 0.5, 0, 0), (0, 0, 0, 0.5))  # what is cut from each side
        )
        layout |= {index: left.get(index, []) + right.get(index, []) for index in spreads}
    running_lines = _find_running_lines(layout)
    label = ""
    for index, sheet in enumerate(sheets):
        label = bookmarks.get(index, label)
        text = sheet.text
        ocr_lines: Sequence[ocr.LineBox] = ()
        if sheet.is_damaged:  # it is left empty, so that later pages keep their index
            draft.warn("unreadable_page", f"Page {index + 1} is damaged; it was left empty.", index)
        elif not text.strip() and sheet.has_picture and not sheet.unreadable_chars:
            picture = partial(draw_page, document, index, ocr.MAX_SIDE)
            text, ocr_lines = draft.read_picture(len(document), picture)
        elif text and index in layout:
            paragraphs: dict[int, str] = {}
            if not sheet.is_spread:
                paragraphs = _restore_paragraphs(document, index, layout[index], text)
            marked_up = join_blocks(_convert(layout[index], running_lines, paragraphs))
            marked_up = pages.restore(marked_up, sheet.scripts)
            if _holds_text(marked_up, text) and not _is_right_to_left(text):
                text = marked_up
            else:
                detail = f"Page {index + 1} was read without headings and tables."
                draft.warn("plain_page", detail, index)
        unreadable_chars = sheet.unreadable_chars
        if unreadable_chars and draft.ocr is not None:
            picture = partial(draw_unreadable, open_pdf(path), index, ocr.MAX_SIDE)
            read_text, read_lines = draft.read_picture(len(document), picture)
            if read_text:
                unreadable_chars = 0
                ocr_lines = () if text.strip() else read_lines
                text = f"{text}\n\n{read_text}" if text.strip() else read_text
        draft.add_page(
            text, label, ocr_lines, unseen=sheet.unseen, unreadable_chars=unreadable_chars
        )


def open_pdf(path: Path) -> pypdfium2.PdfDocument:
    """Open a PDF that needs no password. Raises ``Unparsable``: ``encrypted_pdf``,
    ``damaged_file``."""
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


def _restore_paragraphs(
    document: pypdfium2.PdfDocument, index: int, blocks: Sequence[LayoutBlock], text: str
) -> dict[int, str]:
    """The text of the areas of those of a page's blocks that are tables made of paragraphs, by
    their place among the blocks. It may hold tables, too, a line for each row."""
    pairs = set(pairwise(_WORD.findall(text)))
    found: dict[int, str] = {}
    for place, block in enumerate(blocks):
        cells = [each for row in _read_cells(block) for each in row]
        words_of_cells = [_WORD.findall(cell) for cell in cells]
        broken = sum(
            pair not in pairs
            for words in words_of_cells
            if len(words) >= MIN_WORDS_OF_PROSE
            for pair in pairwise(words)
        )
        if broken >= MIN_BROKEN_PAIRS and (box := block.bbox) is not None:
            page = document[index]
            text_page = page.get_textpage()
            top = page.get_height() - box.y
            area = text_page.get_text_bounded(box.x, top - box.height, box.x + box.width, top)
            area, table = clean(area), "\n".join(cells)
            if _holds_text(area, table) and _holds_text(table, area):  # no other block is in it
                found[place] = area
    return found


def _read_cells(table: LayoutBlock) -> list[list[str]]:
    """The rows of a table; none of another block."""
    rows = [*([table.header] if table.header else []), *(table.rows or [])]
    return [[_plain(cell.text) for cell in row] for row in rows]


def draw_page(document: pypdfium2.PdfDocument, index: int, max_side: int) -> Image.Image:
    """The page as people see it, at most ``max_side`` pixels wide and high."""
    return draw(document[index], max_side)


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


def _is_endless(document: pypdfium2.PdfDocument) -> bool:
    """Whether the outline repeats itself. LiteParse would follow it until it crashes."""
    seen: set[int] = set()
    waiting = [pypdfium2.raw.FPDFBookmark_GetFirstChild(document, None)]
    while waiting:
        if not (bookmark := waiting.pop()):
            continue
        address = ctypes.addressof(bookmark.contents)
        if address in seen:
            return True
        seen.add(address)
        waiting.append(pypdfium2.raw.FPDFBookmark_GetNextSibling(document, bookmark))
        waiting.append(pypdfium2.raw.FPDFBookmark_GetFirstChild(document, bookmark))
    return False


def _read_layout(
    content: bytes,
    indexes: Iterable[int] = (),
    crop_box: tuple[float, float, float, float] | None = None,
) -> dict[int, list[LayoutBlock]]:
    """The blocks of each page that LiteParse can read, in reading order; ``indexes``: only of these
    pages."""
    parser = liteparse.LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        image_mode="off",
        extract_blocks=True,
        extract_links=False,
        keep_headers_footers=True,  # people search for what stands there, such as a case number
        continue_on_page_error=True,
        max_pages=2**31 - 1,  # the draft has its own limit
        num_workers=1,
        quiet=True,
        target_pages=",".join(str(index + 1) for index in indexes) or None,
        crop_box=crop_box,
    )
    try:
        result = parser.parse(content)
    except liteparse.ParseError:
        return {}
    return {page.page_num - 1: page.blocks or [] for page in result.pages}


def _find_running_lines(layout: dict[int, list[LayoutBlock]]) -> dict[str, set[Name]]:
    """The running lines of all pages. One may stand below another; there, a line that less than a
    tenth of the pages have may be the heading of a section: "7. Income Taxes (continued)"."""
    lines = {index: [block.text for block in blocks] for index, blocks in layout.items()}
    running: dict[str, set[Name]] = {}
    for depth in range(MAX_LINES):
        edges = [
            (index, text)
            for index, texts in lines.items()
            for text in {*texts[:1], *texts[-1:]}
            if text
        ]
        page_counts = Counter(text for _, text in edges)
        min_pages = MIN_SHARE_OF_PAGES * len(layout) if depth else 0
        running |= {
            text: names
            for (_, text), names in zip(edges, find_running_lines(edges), strict=True)
            if names and page_counts[text] >= min_pages
        }
        for texts in lines.values():
            for at in (0, -1):
                if texts and texts[at] in running:
                    del texts[at]
    return running


def _convert(
    blocks: list[LayoutBlock], running_lines: dict[str, set[Name]], paragraphs: dict[int, str]
) -> Iterator[Block]:
    """``paragraphs``: the texts of blocks that are no tables, by their place."""
    is_opening = True  # there were only running lines so far
    for place, block in enumerate(blocks):
        text = _plain(block.text or "")
        is_running = block.text in running_lines
        # With a number, what LiteParse finds to be a heading may be one: "Exercise 5".
        is_repeated = (block.text, None) in running_lines.get(block.text or "", ())
        is_title = is_opening and not is_running and _reads_like_a_title(text)
        is_opening &= is_running or not text
        if place in paragraphs:
            yield Block(paragraphs[place].strip())
        elif block.kind == "table":
            yield from format_table(_read_cells(block))
        elif block.kind == "code":
            yield Block("\n".join(["```", *(block.lines or [text]), "```"]))
        elif not text:
            continue
        elif block.kind == "heading" and not is_repeated:
            yield Block(text, level=min(block.level or 1, 6))
        elif block.kind == "list_item":
            marker = block.marker if block.ordered and block.marker else "-"
            yield Block(f"{marker} {text}", run="list")
        else:
            yield Block(text, level=2 if is_title else 0)


def _reads_like_a_title(text: str) -> bool:
    """Whether most words begin with a capital, as in "Consolidated Statements of Income (in
    millions)", whose unit does not count."""
    words = [word for word in _UNIT.sub("", text).split() if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return (
        2 <= len(words) <= MAX_TITLE_WORDS
        and text[-1] not in ".,;:"
        and capitals >= MIN_SHARE_OF_CAPITALS * len(words)
    )


def _plain(markdown: str) -> str:
    """Inline Markdown without its marks: bold type adds nothing to a search."""
    markdown = clean(markdown)
    if not set(markdown) & set("*\\~`"):
        return " ".join(markdown.split())
    [inline] = _INLINE_MARKDOWN.parseInline(markdown)
    return " ".join(
        "".join(
            token.content or " " * (token.type == "softbreak") for token in inline.children or []
        ).split()
    )


def _is_right_to_left(text: str) -> bool:
    """Whether most letters are of such a script, whose words LiteParse puts in a wrong order."""
    return 2 * len(_RIGHT_TO_LEFT.findall(text)) > sum(map(str.isalpha, text))


def _holds_text(marked_up: str, text: str) -> bool:
    """Whether the Markdown holds nearly all letters and digits of the text."""
    expected, found = _count_letters(text), _count_letters(marked_up)
    return (expected & found).total() >= MIN_SHARE_OF_TEXT * expected.total()


def _count_letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))
