"""Word: paragraphs, lists and tables in document order, a page for each top heading.

The XML is walked directly: python-docx's own iteration leaves out content controls,
text boxes and tracked insertions. Deleted text, headers and footers are left out here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn

from documents.parsing.archives import check_office_archive
from documents.parsing.blocks import LIST_INDENT, Block, add_sections, format_table, join_in_cell
from documents.parsing.charts import read_chart
from documents.parsing.document import DocumentDraft

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_OUTLINE_LEVEL = f"{qn('w:pPr')}/{qn('w:outlineLvl')}"
_TEXT_BOX = qn("w:txbxContent")
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# What stands before and after the parts of a formula; its signs are in its text.
_MATH_MARKS = {
    f"{_MATH}oMath": ("$", "$"), f"{_MATH}d": ("(", ")"), f"{_MATH}rad": ("√{", "}"),
    f"{_MATH}num": ("{", "}"), f"{_MATH}den": ("/{", "}"),
    f"{_MATH}sub": ("_{", "}"), f"{_MATH}sup": ("^{", "}"), f"{_MATH}lim": ("_{", "}"),
}  # fmt: skip
_CHECKBOXES = {"\u2610": "[ ]", "\u2611": "[x]", "\u2612": "[x]"}
# Drawings are stored twice, the second time for old readers; moved text is read at its new place.
_SKIPPED_TAGS = {
    qn("w:pPr"), qn("w:rPr"), qn("w:moveFrom"), qn("w:del"), qn("w:instrText"),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}  # fmt: skip
_TAG_CHARACTERS = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    document = docx.Document(str(path))
    draft.propose_title(document.core_properties.title)
    add_sections(draft, _BodyReader(document).blocks(document.element.body))


class _BodyReader:
    """Walks the body. Caches what each style means; python-docx would look it up each time."""

    def __init__(self, document: Any) -> None:
        self._parts = document.part.related_parts
        self._levels: dict[str, int] = {}
        self._list_styles: set[str] = set()
        for style in document.styles.element.findall(qn("w:style")):
            style_id = style.get(qn("w:styleId")) or ""
            name_element = style.find(qn("w:name"))
            name = "" if name_element is None else name_element.get(qn("w:val")) or ""
            if level := _outline_level(style):
                self._levels[style_id] = level
            elif heading := _HEADING.match(name):
                self._levels[style_id] = int(heading.group(1))
            elif name.lower() == "title":
                self._levels[style_id] = 1
            elif name.lower().startswith("list "):
                self._list_styles.add(style_id)
        self._notes = {
            **_read_notes(document, RELATIONSHIP_TYPE.FOOTNOTES, "w:footnote"),
            **_read_notes(document, RELATIONSHIP_TYPE.ENDNOTES, "w:endnote"),
        }

    def blocks(self, parent: Any) -> Iterator[Block]:
        for element in parent:
            if element.tag == qn("w:p"):
                yield from self._paragraph(element)
            elif element.tag == qn("w:tbl"):
                yield from self._table(element)
            elif element.tag not in _SKIPPED_TAGS and isinstance(element.tag, str):
                yield from self.blocks(element)  # content controls, custom XML, insertions

    def _paragraph(self, paragraph: Any) -> Iterator[Block]:
        boxes: list[Any] = []
        note_ids: list[tuple[str, str]] = []
        text = "".join(_iter_inline_text(paragraph, boxes, note_ids)).strip()
        charts = [chart.get(qn("r:id")) for chart in paragraph.iter(_CHART)]
        properties = paragraph.find(qn("w:pPr"))
        style = None if properties is None else properties.find(qn("w:pStyle"))
        style_id = "" if style is None else style.get(qn("w:val")) or ""
        level = _outline_level(paragraph) or self._levels.get(style_id, 0)
        if text and level:
            yield Block(" ".join(text.split()), level=min(level, 6))
        elif text:
            numbering = None if properties is None else properties.find(qn("w:numPr"))
            if numbering is not None or style_id in self._list_styles:
                yield Block(LIST_INDENT * _list_depth(numbering) + f"- {text}", run="list")
            elif box := _CHECKBOXES.get(text[0]):
                yield Block(f"- {box} {text[1:].lstrip()}", run="list")
            else:
                yield Block(text)
        for box in boxes:
            yield from self.blocks(box)
        for chart_id in charts:
            if chart_id in self._parts:
                yield Block(read_chart(self._parts[chart_id].blob))
        for note_id in note_ids:
            if note := self._notes.get(note_id):
                yield Block(f"[Note] {note}")

    def _table(self, table: Any) -> list[Block]:
        rows = [
            [
                (cell, list(self.blocks(cell)))
                for cell in row.iter(qn("w:tc"))
                if next(cell.iterancestors(qn("w:tr"))) is row
            ]
            for row in table.iter(qn("w:tr"))
            if next(row.iterancestors(qn("w:tbl"))) is table
        ]
        cells = [blocks for row in rows for _, blocks in row]
        has_one_column = all(len(row) == 1 for row in rows)
        has_layout = any(block.level or block.run == "table" for each in cells for block in each)
        if has_one_column and (len(rows) == 1 or has_layout):  # a frame around text or a table
            return [block for blocks in cells for block in blocks]
        filled: list[list[str]] = []
        for row in rows:
            filled.append([])
            for cell, blocks in row:
                column = len(filled[-1])
                text = join_in_cell(blocks)
                if cell.vMerge == "continue" and len(filled) > 1:  # merged with the cell above
                    text = "".join(filled[-2][column : column + 1])
                filled[-1] += [text, *[""] * (cell.grid_span - 1)]
        return format_table(filled, may_have_one_column=True)


def _list_depth(numbering: Any) -> int:
    level = None if numbering is None else numbering.find(qn("w:ilvl"))
    value = "" if level is None else level.get(qn("w:val")) or ""
    return int(value) if value in {"1", "2", "3", "4", "5", "6", "7", "8"} else 0


def _iter_inline_text(
    parent: Any, boxes: list[Any], note_ids: list[tuple[str, str]]
) -> Iterator[str]:
    for element in parent:
        tag = element.tag
        if tag in {qn("w:t"), f"{_MATH}t"}:
            yield element.text or ""
        elif tag in _TAG_CHARACTERS:
            yield _TAG_CHARACTERS[tag]
        elif tag == f"{_MATH}naryPr" and element.find(f"{_MATH}chr") is None:
            yield "∫"  # which the format leaves out
        elif tag == f"{_MATH}chr":  # the sign of a sum or a product
            yield element.get(f"{_MATH}val", "")
        elif tag in _MATH_MARKS:
            before, after = _MATH_MARKS[tag]
            if text := "".join(_iter_inline_text(element, boxes, note_ids)):
                yield f"{before}{text}{after}"
        elif tag == _TEXT_BOX:
            boxes.append(element)
        elif tag in {qn("w:footnoteReference"), qn("w:endnoteReference")}:
            kind = "w:footnote" if tag == qn("w:footnoteReference") else "w:endnote"
            note_ids.append((kind, element.get(qn("w:id")) or ""))
        elif tag not in _SKIPPED_TAGS and isinstance(tag, str):
            yield from _iter_inline_text(element, boxes, note_ids)


def _read_notes(document: Any, relationship: str, tag: str) -> dict[tuple[str, str], str]:
    try:
        part = document.part.part_related_by(relationship)
    except KeyError:
        return {}
    notes = {}
    for note in parse_xml(part.blob).iter(qn(tag)):
        text = " ".join("".join(_iter_inline_text(note, [], [])).split())
        notes[tag, note.get(qn("w:id")) or ""] = text
    return notes


def _outline_level(element: Any) -> int:
    """1–9, or 0 for body text (stored as 9)."""
    outline = element.find(_OUTLINE_LEVEL)
    value = "" if outline is None else outline.get(qn("w:val")) or ""
    return int(value) + 1 if value in {"0", "1", "2", "3", "4", "5", "6", "7", "8"} else 0
