"""OpenDocument: texts as Word files, presentations as slides, spreadsheets as sheets."""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from documents.parsing.archives import check_office_archive, open_archive, parse_xml_part
from documents.parsing.blocks import (
    Block,
    add_sections,
    format_sheet,
    format_table,
    join_blocks,
    join_in_cell,
)
from documents.parsing.document import DocumentDraft

MAX_REPEATED_CELLS = 100  # of one text; spreadsheets repeat empty cells to their last column

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
_SKIPPED_TAGS = {
    f"{_TEXT}tracked-changes", f"{_TEXT}note-citation", f"{_OFFICE}annotation",
    f"{_TEXT}sequence-decls", f"{_OFFICE}forms",
}  # fmt: skip


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    with open_archive(path, draft.limits) as archive:
        content = parse_xml_part(archive, "content.xml")
        if "meta.xml" in archive.namelist():
            draft.propose_title(parse_xml_part(archive, "meta.xml").findtext(_TITLE))
    body = content.find(f".//{_OFFICE}body")
    [document] = body if body is not None and len(body) == 1 else [content]
    if document.tag == f"{_OFFICE}spreadsheet":
        for sheet in document.iterfind(f"{_TABLE}table"):
            name = sheet.get(f"{_TABLE}name", "")
            draft.add_page(format_sheet(_read_rows(sheet), name), name)
    elif document.tag == f"{_OFFICE}presentation":
        for number, slide in enumerate(document.iterfind(f"{_DRAW}page"), start=1):
            _add_slide(slide, number, draft)
    else:
        add_sections(draft, _read_blocks(document))


def _add_slide(slide: etree._Element, number: int, draft: DocumentDraft) -> None:
    title = ""
    blocks: list[Block] = []
    for shape in slide:
        found = list(_read_blocks(shape))
        if shape.get(f"{_PRESENTATION}class") == "title" and not title:
            title = " ".join(block.text for block in found)
            found = [Block(title, level=1)] if title else []
        blocks += found
    draft.add_page(join_blocks(blocks), f"Slide {number}: {title}" if title else f"Slide {number}")
    draft.propose_title(title)


def _read_blocks(element: etree._Element, run: str = "") -> Iterator[Block]:
    """The headings, paragraphs, list items and tables in the element, in order."""
    for child in element:
        if child.tag in _SKIPPED_TAGS:
            continue
        if child.tag in {f"{_TEXT}h", f"{_TEXT}p"}:
            text = _read_text(child)
            is_heading = child.tag == f"{_TEXT}h"
            level = child.get(f"{_TEXT}outline-level", "1") if is_heading else "0"
            if text:
                marker = "- " if run else ""
                yield Block(f"{marker}{text}", min(int(level), 6), "" if is_heading else run)
            # What stands in text boxes and notes that are anchored in the paragraph.
            for frame in child.iter(f"{_DRAW}text-box", f"{_TEXT}note-body"):
                yield from _read_blocks(frame)
        elif child.tag == f"{_TABLE}table":
            yield from format_table(_read_rows(child))
        elif child.tag == f"{_TEXT}list":
            yield from _read_blocks(child, "list")
        else:
            yield from _read_blocks(child, run)


def _read_text(element: etree._Element) -> str:
    """The text of a paragraph, without the frames and notes in it."""
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            parts.append(" " * min(int(child.get(f"{_TEXT}c", "1")), MAX_REPEATED_CELLS))
        elif child.tag == f"{_TEXT}tab":
            parts.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif child.tag not in {*_SKIPPED_TAGS, f"{_TEXT}note", f"{_DRAW}frame"}:
            parts.append(_read_text(child))
        parts.append(child.tail or "")
    return "".join(parts).strip() if element.tag in {f"{_TEXT}h", f"{_TEXT}p"} else "".join(parts)


def _read_rows(table: etree._Element) -> Iterator[list[str]]:
    for row in table.iter(f"{_TABLE}table-row"):
        if next(row.iterancestors(f"{_TABLE}table")) is not table:
            continue  # of a table in a cell
        cells: list[str] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = join_in_cell(_read_blocks(cell))
            count = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            cells += [text] * min(count, MAX_REPEATED_CELLS)
        yield cells
