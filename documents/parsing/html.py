"""HTML: the visible text, one line or more for each block, a page for each top heading.

It is parsed by events and not into a tree, so that deep nesting (100,000 elements) is safe.
"""

import re
from collections.abc import Iterator
from itertools import count, repeat
from pathlib import Path

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
from documents.parsing.text import read_text

_HIDDEN_TAGS = {
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "audio", "video",
    "canvas", "datalist",
}  # fmt: skip
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


def read(path: Path, draft: DocumentDraft) -> None:
    with path.open("rb") as stream:
        declared = find_declared_encoding(stream.read(4096))
    page = HtmlText.from_html(read_text(path, draft, declared=declared))
    draft.propose_title(page.title)
    add_sections(draft, page.blocks)


def find_declared_encoding(head: bytes) -> str | None:
    found = _XML_ENCODING.search(head) or _META_CHARSET.search(head)
    return found.group(1).decode("ascii", "replace") if found else None


class HtmlText:
    """Collects blocks from parser events (``start``, ``end``, ``data`` are lxml's names)."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title = ""
        self._parts: list[str] = []
        self._hidden_depth = 0  # depth inside a hidden element
        self._pre_depth = 0
        self._cell_depth = 0
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
        if self._hidden_depth:
            self._hidden_depth += 1
        elif (
            tag in _HIDDEN_TAGS
            or "hidden" in attributes
            or _HIDDEN_STYLE.search(attributes.get("style", ""))
        ):
            self._hidden_depth = 1
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
            if tag in {"ul", "ol", "menu"} and not self._cell_depth:
                numbers = (f"{number}. " for number in count(1))
                self._lists.append(numbers if tag == "ol" else repeat("- "))

    def end(self, tag: str) -> None:
        if self._hidden_depth:
            self._hidden_depth -= 1
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
                self._rows[-1].append(Cell(self._take_text(), *self._spans))
        elif tag == "table" and not self._cell_depth:
            self._end_table()
        elif tag == "li":
            self._end_block()
            self._marker = ""
        elif tag in _BLOCK_TAGS:
            self._end_block()
            self._pre_depth -= tag == "pre"
            if tag in {"ul", "ol", "menu"} and not self._cell_depth and self._lists:
                self._lists.pop()

    def data(self, data: str) -> None:
        if not self._hidden_depth:
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
        text = "".join(self._parts)
        self._parts.clear()
        if self._pre_depth:
            return text.lstrip("\n").rstrip()
        lines = (_SPACE.sub(" ", line).strip(" |") for line in text.split("\n"))
        return "\n".join(line for line in lines if line)

    def _flush(self) -> None:
        text = self._take_text()
        if not text.strip():
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


def _read_span(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "")
    return min(max(int(text), 1), MAX_SPAN) if text.isascii() and text.isdecimal() else 1
