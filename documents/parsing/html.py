"""HTML: the visible text, one line or more for each block, a page for each top heading; hidden and
struck text apart from it.

It is parsed by events and not into a tree, so that deep nesting (100,000 elements) is safe.
"""

import re
from collections.abc import Iterator
from itertools import count, repeat
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from documents.parsing.blocks import (
    LIST_INDENT,
    Block,
    Cell,
    add_sections,
    fill_merged_cells,
    format_table,
)
from documents.parsing.document import DocumentDraft
from documents.parsing.html_elements import (
    SKIPPED_TAGS,
    Choice,
    Drawing,
    Formula,
    Skipped,
    Unseen,
    clean_tex,
)
from documents.parsing.text import read_text
from text.superscripts import lower_text, raise_text

_STRUCK_TAGS = {"del", "s", "strike"}
_WHOLE_TAGS: dict[str, type[Skipped]] = {"math": Formula, "svg": Drawing, "select": Choice}
_INLINE_TAGS = {"a", "sup", "sub"}
_RAISED_TAGS = {"sup": raise_text, "sub": lower_text}
MAX_RAISED_CHARS = 40
_ORDINAL = re.compile(r"[^\W\d_]{2,4}")
_SIGNS = re.compile(r"[^\w+−=()-]+")  # such as ® and *, which are small or raised themselves
_NOTE_MARK = re.compile(r"[\[(]?(\w{1,4}|[*†‡§]+)[\])]?")
# Of links to the place at which they stand, and from a note back to its mark.
_PERMALINK = re.compile(r"[\s¶^🔗⚓↑↩↵⤴\ufe0e\ufe0f]+")
_PERMALINK_OF_HEADING = re.compile(r"[\s#§]+")
_SAYS_NOTHING = re.compile(  # as the text in place of an image
    r"\W*|(?:image|img|picture|photo|graphic|icon|logo|spacer|bild|foto)\d*"
    r"|\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|avif)",
    re.IGNORECASE,
)
_NO_WORD = re.compile(r"\W+")
MAX_COMPARED_ALTS = 20  # of one block
MAX_CAPTION_CHARS = 2_000
_WITHOUT_VALUE = {"hidden", "password", "submit", "button", "reset", "file", "image", "color"}
_BLOCK_TAGS = {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header",
    "hr", "html", "legend", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre",
    "section", "select", "summary", "table", "tbody", "tfoot", "thead", "ul",
}  # fmt: skip
MAX_SPAN = 100  # rows or columns of a cell
MAX_LIST_DEPTH = 9  # deeper lists are written at this depth
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\n\r\f]+")
_META_CHARSET = re.compile(rb"""<meta[^>]{0,500}?charset\s*+=\s*+["']?\s*+([\w.:-]{2,40})""", re.I)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{2,40})["']""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]{0,40}line-through", re.I)


def read(path: Path, draft: DocumentDraft) -> None:
    with path.open("rb") as stream:
        declared = find_declared_encoding(stream.read(4096))
    page = HtmlText.from_html(read_text(path, draft, declared=declared))
    draft.propose_title(page.title)
    add_sections(draft, page.blocks)


def find_declared_encoding(head: bytes) -> str | None:
    found = _XML_ENCODING.search(head) or _META_CHARSET.search(head)
    return found.group(1).decode("ascii", "replace") if found else None


class _Alt(str):
    """The text in place of an image."""


class _Inline(NamedTuple):
    """An open element whose text is rewritten at its end."""

    tag: str
    block: int
    start: int  # in the parts of the block
    has_link: bool  # to a place in this document
    is_note: bool  # the mark of a note


class HtmlText:
    """Collects blocks from parser events (``start``, ``end``, ``data`` are lxml's names)."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title = ""
        self._parts: list[str] = []
        self._inline: list[_Inline] = []
        self._block = 0  # the number of the open one
        self._alt_count = 0  # of the block
        self._whole: Skipped | None = None  # the open element that takes the events
        self._last_formula = ""  # whose picture may follow
        self._takes_alt = False  # whether the text taken last is only in place of images
        self._was_alt = False  # whether the last block is
        self._pre_depth = 0
        self._cell_depth = 0
        self._head_depth = 0  # of tables
        self._rows: list[list[Cell]] = []  # of the outermost open table; its last row may grow
        self._spans = 1, 1  # rows and columns of the open cell
        self._level = 0
        self._lists: list[Iterator[str]] = []  # the markers of the open ones
        self._marker = ""  # of the open list element, until its text is added

    @classmethod
    def from_html(cls, source: str) -> "HtmlText":
        collector = cls()
        # The encoding is given, so that lxml ignores a declaration inside the text.
        parser = etree.HTMLParser(
            target=collector, encoding="utf-8", recover=True, huge_tree=True, no_network=True
        )
        parser.feed(_XML_DECLARATION.sub("", source, count=1).encode("utf-8", "replace"))
        parser.close()
        return collector

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._whole is not None:
            self._whole.start(tag, attributes)
        elif tag in SKIPPED_TAGS:
            self._whole = Skipped()
        elif (
            (attributes or tag in _WHOLE_TAGS or tag in _STRUCK_TAGS)
            and (whole := self._find_whole(tag, attributes)) is not None
        ):  # fmt: skip
            self._whole = whole
        elif tag in _INLINE_TAGS:
            target = attributes.get("href", "")
            kind = f"{attributes.get('role', '')} {attributes.get('epub:type', '')}"
            self._inline.append(
                _Inline(
                    tag,
                    self._block,
                    len(self._parts),
                    has_link="#" in target and "://" not in target,
                    is_note="noteref" in kind,
                )
            )
        elif tag in {"img", "area"}:
            self._add_image(attributes)
        elif tag == "input":
            self._add_input(attributes)
        elif tag == "title":
            self._flush()
        elif tag in _HEADINGS:
            self._end_block()
            self._level = 0 if self._cell_depth else _HEADINGS[tag]
        elif tag == "br":
            self._parts.append("\n")
        elif tag in {"td", "th"}:
            self._cell_depth += 1
            if self._cell_depth == 1:
                self._flush()  # what stands in a table, but in no cell
                self._spans = _read_span(attributes, "rowspan"), _read_span(attributes, "colspan")
            else:
                self._parts.append(" ")
        elif tag == "tr" and not self._cell_depth:
            self._flush()
            self._rows.append([])
        elif tag in {"tr", "li"}:
            self._end_block()
            if tag == "li" and not self._cell_depth:
                self._marker = next(self._lists[-1]) if self._lists else "- "
        elif tag in _BLOCK_TAGS:
            self._end_block()
            self._pre_depth += tag == "pre"
            self._head_depth += tag == "thead"
            if tag in {"ul", "ol", "menu"} and not self._cell_depth:
                numbers = (f"{number}. " for number in count(1))
                self._lists.append(numbers if tag == "ol" else repeat("- "))

    def _find_whole(self, tag: str, attributes: dict[str, str]) -> Skipped | None:
        style = attributes.get("style", "")
        if "hidden" in attributes or _HIDDEN_STYLE.search(style):
            return Skipped() if tag in {"svg", "input", "img"} else Unseen("hidden")
        if tag in _STRUCK_TAGS or _STRUCK_STYLE.search(style):
            return Unseen("deleted")
        # Programs that draw a formula themselves hide its letters from those who hear it.
        if self._last_formula and attributes.get("aria-hidden") == "true" and tag != "img":
            return Skipped()
        maker = _WHOLE_TAGS.get(tag)
        return maker() if maker and "multiple" not in attributes else None

    def _end_whole(self, whole: Skipped) -> None:
        """Write what an element that ended stands for."""
        self._whole = None
        if isinstance(whole, Unseen):
            if whole.text.text:
                self.blocks.append(Block("", unseen=(whole.text,)))
            elif whole.formula is not None:
                self._end_whole(whole.formula)
        elif isinstance(whole, Formula):
            self._parts.append(str(whole))
            self._last_formula = whole.tex or str(whole)
        elif isinstance(whole, Drawing):
            self._add_alt(whole.title)
            if text := str(whole):
                self._parts.append(f"\n{text}\n")
        elif isinstance(whole, Choice):
            self._parts.append(f" {whole} ")

    def _add_image(self, attributes: dict[str, str]) -> None:
        is_decoration = attributes.get("role") in {"presentation", "none"}
        if not is_decoration and attributes.get("aria-hidden") != "true":
            self._add_alt(attributes.get("alt", ""))

    def _add_alt(self, text: str) -> None:
        text = " ".join(text.split())
        is_emoji = len(text) <= 4 and text.isprintable() and not text.isascii()
        is_formula = clean_tex(text) == self._last_formula
        if text and not is_formula and (is_emoji or not _SAYS_NOTHING.fullmatch(text)):
            self._parts.append(_Alt(text if is_emoji else f" {text} "))
            self._alt_count += 1

    def _add_input(self, attributes: dict[str, str]) -> None:
        kind = attributes.get("type", "text").lower()
        if "role" in attributes:  # a button that a program made of it
            return
        if kind in {"checkbox", "radio"}:
            self._parts.append(" [x] " if "checked" in attributes else " [ ] ")
        elif kind not in _WITHOUT_VALUE:
            self._parts.append(f" {attributes.get('value', '')} ")

    def end(self, tag: str) -> None:
        if self._whole is not None:
            if self._whole.end():
                self._end_whole(self._whole)
        elif tag in _INLINE_TAGS:
            self._end_inline(tag)
        elif tag == "title":
            text = " ".join("".join(self._parts).split())
            self.title = self.title or text
            self._parts.clear()
        elif tag in _HEADINGS:
            self._end_block()
            self._level = 0
        elif tag in {"td", "th"}:
            self._cell_depth -= 1
            if not self._cell_depth:
                if not self._rows:  # a cell outside any row
                    self._rows.append([])
                is_header = bool(self._head_depth) or tag == "th"
                self._rows[-1].append(Cell(self._take_text(), *self._spans, is_header))
        elif tag == "table" and not self._cell_depth:
            self._end_table()
        elif tag == "li":
            self._end_block()
            self._marker = ""
        elif tag in _BLOCK_TAGS:
            self._end_block()
            self._pre_depth -= tag == "pre"
            self._head_depth -= tag == "thead"
            if tag in {"ul", "ol", "menu"} and not self._cell_depth and self._lists:
                self._lists.pop()

    def _end_inline(self, tag: str) -> None:
        """Rewrite what is raised or lowered, and the marks of notes and of places."""
        element = self._inline.pop() if self._inline else None
        if element is None or element.block != self._block:
            return  # it holds several blocks
        text = "".join(self._parts[element.start :])
        outer = self._inline[-1] if self._inline else None
        is_note = element.is_note
        if tag == "a":
            is_permalink = _PERMALINK.fullmatch(text) or (
                self._level and _PERMALINK_OF_HEADING.fullmatch(text)
            )
            if element.has_link and is_permalink:
                del self._parts[element.start :]
            elif element.has_link and outer is not None and outer.start == element.start:
                self._inline[-1] = outer._replace(is_note=True)
        else:
            is_note |= outer is not None and outer.has_link and outer.start == element.start
        if is_note and (mark := _NOTE_MARK.fullmatch(text.strip())):
            self._parts[element.start :] = [f" [{mark[1]}]"]
        elif tag == "sup" and text.lstrip().startswith("["):  # as Wikipedia's notes
            self._parts.insert(element.start, " ")
        elif tag in _RAISED_TAGS and len(text) <= MAX_RAISED_CHARS and "\n" not in text:
            before = self._parts[element.start - 1] if element.start else ""
            is_ordinal = before[-1:].isdigit() and _ORDINAL.fullmatch(text)  # as in 21st
            if not is_ordinal and not _SIGNS.fullmatch(text):
                self._parts[element.start :] = [_RAISED_TAGS[tag](text)]

    def data(self, data: str) -> None:
        if self._whole is not None:
            self._whole.data(data)
        else:
            if self._last_formula and not data.isspace():
                self._last_formula = ""
            self._parts.append(data if self._pre_depth else _SPACE.sub(" ", data))

    def close(self) -> None:
        self._end_table()

    def _end_block(self) -> None:
        """End a block: inside a table cell as a line of the cell, elsewhere as a block."""
        if self._cell_depth:
            self._parts.append("\n")
        else:
            self._flush()

    def _end_table(self) -> None:
        """Add the table's blocks. One with a single row or column only lays out the page."""
        self._flush()
        rows = [row for row in self._rows if any(cell.text for cell in row)]
        if len(rows) == 1 or all(len(row) == 1 for row in rows):
            self.blocks += [Block(cell.text) for row in rows for cell in row if cell.text]
        else:
            self.blocks += format_table(fill_merged_cells(self._rows))
        self._rows = []

    def _take_text(self) -> str:
        self._block += 1
        self._takes_alt = False
        if not self._parts:
            return ""
        if self._alt_count:
            self._drop_repeated_alts()
        text = "".join(self._parts)
        self._parts.clear()
        if self._pre_depth:
            return text.lstrip("\n").rstrip()
        if "\n" not in text:
            return _SPACE.sub(" ", text).strip(" |")
        lines = (_SPACE.sub(" ", line).strip(" |") for line in text.split("\n"))
        return "\n".join(line for line in lines if line)

    def _drop_repeated_alts(self) -> None:
        """Leave out texts in place of images that the block says itself."""
        if self._alt_count <= MAX_COMPARED_ALTS:
            rest = _fold("".join(each for each in self._parts if not isinstance(each, _Alt)))
            self._takes_alt = not rest.strip()
            self._parts = [
                each
                for each in self._parts
                if not isinstance(each, _Alt) or not _fold(each).strip() or _fold(each) not in rest
            ]
        self._alt_count = 0

    def _flush(self) -> None:
        text = self._take_text()
        if not text.strip() or (self._is_alt_of_caption(text) and not self._level):
            return
        if self._level:
            self.blocks.append(Block(" ".join(text.split()), level=self._level))
        elif self._marker or self._lists:
            # What follows in the same element is indented below its first line.
            depth = min(max(len(self._lists), 1), MAX_LIST_DEPTH)
            indent = LIST_INDENT * depth
            start = LIST_INDENT * (depth - 1) + self._marker if self._marker else indent
            self.blocks.append(Block(start + text.replace("\n", "\n" + indent), run="list"))
            self._marker = ""
        else:
            self.blocks.append(Block(text))

    def _is_alt_of_caption(self, text: str) -> bool:
        """Whether the block before says what this one does, which stands in place of an image; if
        it is the other way round, the block before is dropped."""
        was_alt, self._was_alt = self._was_alt, self._takes_alt
        above = self.blocks[-1] if self.blocks else None
        if above is None or above.level or len(above.text) > MAX_CAPTION_CHARS:
            return False
        if was_alt and _fold(above.text) in _fold(text):
            self.blocks.pop()
        return self._takes_alt and bool(above.text) and _fold(text) in _fold(above.text)


def _fold(text: str) -> str:
    return f" {_NO_WORD.sub(' ', text).strip().casefold()} "


def _read_span(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "")
    return min(max(int(text), 1), MAX_SPAN) if text.isascii() and text.isdecimal() else 1
