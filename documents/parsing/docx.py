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
from documents.parsing.blocks import Block, add_sections, format_table
from documents.parsing.charts import read_chart
from documents.parsing.document import DocumentDraft

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_OUTLINE_LEVEL = f"{qn('w:pPr')}/{qn('w:outlineLvl')}"
_TEXT_BOX = qn("w:txbxContent")
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
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
    body = _BodyReader(document)
    blocks = list(body.blocks(document.element.body))
    draft.propose_title(body.title)  # which the walk has found
    add_sections(draft, blocks)


class _BodyReader:
    """Walks the body. Caches what each style means; python-docx would look it up each time."""

    def __init__(self, document: Any) -> None:
        self.title = ""
        self._parts = document.part.related_parts
        self._levels: dict[str, int] = {}
        self._title_styles: set[str] = set()
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
                self._title_styles.add(style_id)
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
            if style_id in self._title_styles and not self.title:
                self.title = text
            is_numbered = properties is not None and properties.find(qn("w:numPr")) is not None
            if is_numbered or style_id in self._list_styles:
                yield Block(f"- {text}", run="list")
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
                list(self.blocks(cell))
                for cell in row.iter(qn("w:tc"))
                if next(cell.iterancestors(qn("w:tr"))) is row
            ]
            for row in table.iter(qn("w:tr"))
            if next(row.iterancestors(qn("w:tbl"))) is table
        ]
        if all(len(cells) == 1 for cells in rows):  # a frame around text or around a table
            return [block for [blocks] in rows for block in blocks]
        return format_table(
            [" ".join(block.text for block in blocks) for blocks in cells] for cells in rows
        )


def _iter_inline_text(
    parent: Any, boxes: list[Any], note_ids: list[tuple[str, str]]
) -> Iterator[str]:
    for element in parent:
        tag = element.tag
        if tag == qn("w:t"):
            yield element.text or ""
        elif tag in _TAG_CHARACTERS:
            yield _TAG_CHARACTERS[tag]
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
