"""OpenDocument: texts as Word files, presentations as slides, spreadsheets as sheets.

What is hidden, struck out or was deleted is kept apart; headers and footers of texts are read
once."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

from documents.parsing.archives import check_office_archive, open_archive, parse_xml_part
from documents.parsing.blocks import (
    LIST_INDENT,
    PAGE_NUMBER,
    Block,
    Cell,
    Row,
    add_sections,
    fill_merged_cells,
    format_sheet,
    format_table,
    join_blocks,
    join_in_cell,
    put_margins,
    read_margin,
)
from documents.parsing.document import DocumentDraft, UnseenText
from documents.parsing.drawings import MIN_DESCRIPTION_BYTES
from documents.parsing.html import HtmlText
from documents.parsing.opendocument_styles import Counter, Style, Styles, qn
from text.superscripts import join_shifted

MAX_COLUMNS = 2**14
MAX_REPEATED_CELLS = 100  # of one text; spreadsheets repeat empty cells to their last column
_HEADERS = [qn(f"style:header{page}") for page in ("", "-left", "-first")]
_FOOTERS = [qn(f"style:footer{page}") for page in ("", "-left", "-first")]
_SKIPPED = {
    qn("text:tracked-changes"), qn("text:note-citation"), qn("office:annotation"),
    qn("text:sequence-decls"), qn("office:forms"), qn("text:ruby-text"), qn("svg:title"),
    qn("svg:desc"), qn("text:note"), qn("draw:frame"),
}  # fmt: skip
_PAGE_FIELDS = {qn("text:page-number"), qn("text:page-count")}


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    with open_archive(path, draft.limits) as archive:
        _Reader(archive, draft).read()


@dataclass(slots=True)
class _Line:
    """A paragraph's parts: texts with their shift, and what is not seen."""

    parts: list[tuple[str, int]] = field(default_factory=list)
    unseen: list[UnseenText] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, draft: DocumentDraft) -> None:
        self._archive = archive
        self._draft = draft
        names = set(archive.namelist())
        self._content = parse_xml_part(archive, "content.xml")
        self._others = parse_xml_part(archive, "styles.xml") if "styles.xml" in names else None
        if "meta.xml" in names:
            draft.propose_title(
                parse_xml_part(archive, "meta.xml").findtext(f".//{qn('dc:title')}")
            )
        self._styles = Styles(each for each in (self._others, self._content) if each is not None)
        self._headings = Counter(self._styles.outline)
        self._counters: dict[str, Counter] = {}  # the last of each kind of list
        self._is_margin = False
        self._formula_count = 0

    def read(self) -> None:
        body = self._content.find(f".//{qn('office:body')}")
        [document] = body if body is not None and len(body) == 1 else [self._content]
        if document.tag == qn("office:spreadsheet"):
            for sheet in document.iterfind(qn("table:table")):
                self._add_sheet(sheet)
        elif document.tag == qn("office:presentation"):
            for number, slide in enumerate(document.iterfind(qn("draw:page")), start=1):
                self._add_slide(slide, number)
        else:
            headers, footers = self._read_margins(_HEADERS), self._read_margins(_FOOTERS)
            blocks = [*self._read_deleted(document), *self._read_blocks(document)]
            add_sections(self._draft, put_margins(blocks, headers, footers))
        if self._formula_count:
            self._draft.warn(
                "uncalculated_formula",
                f"{self._formula_count:,} formulas have no value in the file and were read as "
                "formulas. Open it in a spreadsheet program and save it, to have their values.",
            )

    def _read_margins(self, tags: list[str]) -> list[str]:
        self._is_margin = True
        masters = () if self._others is None else self._others.iter(qn("style:master-page"))
        texts = [
            text
            for master in masters
            if master.get(qn("style:name")) in self._styles.masters
            for margin in master.iterchildren(*tags)
            if margin.get(qn("style:display")) != "false"
            for text in read_margin(self._read_blocks(margin))
        ]
        self._is_margin = False
        return texts

    def _read_deleted(self, document: Any) -> Iterator[Block]:
        for deletion in document.iter(qn("text:deletion")):
            if text := join_in_cell(self._read_blocks(deletion)):
                yield Block("", unseen=(UnseenText(text, "deleted"),))

    def _add_slide(self, slide: Any, number: int) -> None:
        title = ""
        blocks: list[Block] = []
        for shape in slide:
            found = list(self._read_blocks([shape]))
            if shape.get(qn("presentation:class")) == "title" and not title:
                title = " ".join(block.text for block in found)
                found = [Block(title, level=1)] if title else []
            blocks += found
        text = join_blocks(blocks)
        unseen = [each for block in blocks for each in block.unseen]
        if self._styles.hides(slide):
            unseen.append(UnseenText(text, "hidden"))
            text = title = ""
        label = f"Slide {number}: {title}" if title else f"Slide {number}"
        self._draft.add_page(text, label, unseen=unseen)
        self._draft.propose_title(title)

    def _add_sheet(self, sheet: Any) -> None:
        name = sheet.get(qn("table:name"), "")
        unseen: list[UnseenText] = []
        text = format_sheet(self._read_rows(sheet, unseen), name)
        notes = [
            join_in_cell(self._read_blocks(each)) for each in sheet.iter(qn("office:annotation"))
        ]
        drawn = [
            block.text
            for shapes in sheet.iter(qn("table:shapes"))
            for block in self._read_blocks(shapes)
        ]
        text = "\n\n".join(
            filter(None, [text, *(f"[Note] {note}" for note in notes if note), *drawn])
        )
        if self._styles.hides(sheet):
            unseen.append(UnseenText(text, "hidden"))
            text = ""
        self._draft.add_page(text, name, unseen=unseen)

    def _read_blocks(self, parent: Any, run: tuple[Counter, int] | None = None) -> Iterator[Block]:
        """The headings, paragraphs, list items and tables in the element, in order; ``run``: the
        numbers of the list that it is in, and its level."""
        start = None if run is None else parent.get(qn("text:start-value"))
        is_first = run is not None and parent.tag == qn("text:list-item")
        for child in parent:
            tag = child.tag
            if tag in {qn("text:h"), qn("text:p")}:
                yield from self._read_paragraph(
                    child, run if is_first else None, start, is_in_list=run is not None
                )
                is_first = False
            elif tag == qn("table:table"):
                unseen: list[UnseenText] = []
                yield from format_table(self._read_rows(child, unseen), may_have_one_column=True)
                yield Block("", unseen=tuple(unseen))
            elif tag == qn("text:list"):
                yield from self._read_list(child, run)
            elif tag == qn("draw:frame"):
                yield from self._read_frame(child)
            elif tag not in _SKIPPED:
                yield from self._read_blocks(child, run)

    def _read_list(self, element: Any, run: tuple[Counter, int] | None) -> Iterator[Block]:
        name = element.get(qn("text:style-name"))
        if run is None:
            first = next(element.iter(qn("text:p"), qn("text:h")), None)
            style = "" if first is None else first.get(qn("text:style-name"))
            name = name or self._styles.get(style).list_name
            goes_on = element.get(qn("text:continue-numbering")) == "true" or element.get(
                qn("text:continue-list")
            )
            if name not in self._counters or not goes_on:
                self._counters[name] = Counter(self._styles.find_list(name))
            run = self._counters[name], 0
        for item in element:
            yield from self._read_blocks(item, (run[0], run[1] + 1))

    def _read_paragraph(
        self, element: Any, run: tuple[Counter, int] | None, start: str | None, *, is_in_list: bool
    ) -> Iterator[Block]:
        line = _Line()
        self._walk(element, line, self._styles.get(element.get(qn("text:style-name"))))
        text = join_shifted(line.parts).strip()
        unseen = tuple(line.unseen)
        label, is_full, depth = "", False, 0
        is_heading = element.tag == qn("text:h")
        level = int(element.get(qn("text:outline-level"), "1")) if is_heading else 0
        if run is not None:
            depth = run[1] - 1
            label, is_full = run[0].next_label(run[1], start)
        elif is_heading and element.get(qn("text:is-list-header")) != "true":
            label, _ = self._headings.next_label(level, element.get(qn("text:start-value")))
        if text and is_heading:
            heading = f"{label.removeprefix('-')} {text}".strip()
            yield Block(heading, min(level, 6), unseen=unseen)
        elif text and is_in_list:
            indent = "" if is_full else LIST_INDENT * min(depth, 8)
            yield Block(f"{indent}{label} {text}" if label else text, run="list", unseen=unseen)
        elif text or unseen:
            yield Block(text, unseen=unseen)
        if line.readings:
            yield Block(f"[Reading] {', '.join(line.readings)}")
        # What stands in text boxes and notes that are anchored in the paragraph.
        for anchored in element.iter(qn("draw:frame"), qn("text:note")):
            if anchored.tag == qn("draw:frame"):
                yield from self._read_frame(anchored)
                continue
            mark = anchored.findtext(qn("text:note-citation"), "").strip()
            note = join_in_cell(self._read_blocks(anchored.find(qn("text:note-body"))))
            yield Block(f"[Note {mark}] {note}" if mark else f"[Note] {note}")

    def _read_frame(self, frame: Any) -> Iterator[Block]:
        yield from (
            block
            for box in frame.iterchildren(qn("draw:text-box"), qn("table:table"))
            for block in self._read_blocks([box])
        )
        for embedded in self._read_objects(frame):
            if embedded.tag != qn("math:math"):  # the values of a chart
                yield from self._read_blocks(embedded)
        description = " ".join((frame.findtext(qn("svg:desc")) or "").split())
        if len(description.encode()) >= MIN_DESCRIPTION_BYTES:
            yield Block(f"[Image] {description}")

    def _read_objects(self, frame: Any) -> Iterator[Any]:
        for reference in frame.iterchildren(qn("draw:object")):
            name = f"{reference.get(qn('xlink:href'), '').removeprefix('./')}/content.xml"
            if name in self._archive.namelist():
                yield parse_xml_part(self._archive, name)

    def _walk(self, element: Any, line: _Line, style: Style) -> None:
        """Add the text of a paragraph to the line, without the frames and notes in it."""
        self._say(line, element.text, style)
        for child in element:
            tag = child.tag
            if tag == qn("text:s"):
                self._say(
                    line, " " * min(int(child.get(qn("text:c"), "1")), MAX_REPEATED_CELLS), style
                )
            elif tag == qn("text:tab"):
                self._say(line, "\t", style)
            elif tag == qn("text:line-break"):
                self._say(line, "\n", style)
            elif tag in _PAGE_FIELDS and self._is_margin:
                self._say(line, PAGE_NUMBER, style)
            elif tag == qn("text:note"):
                citation = child.findtext(qn("text:note-citation"), "").strip()
                self._say(line, citation, style._replace(shift=1))
            elif tag in {qn("text:hidden-text"), qn("text:hidden-paragraph")}:
                if child.get(qn("text:is-hidden")) == "true":
                    text = child.get(qn("text:string-value")) or "".join(child.itertext())
                    self._say(line, text, Style(is_hidden=True))
            elif tag == qn("text:ruby"):
                base = "".join(child.find(qn("text:ruby-base")).itertext())
                self._say(line, base, style)
                line.readings.append(f"{base}: {child.findtext(qn('text:ruby-text'), '')}")
            elif tag == qn("draw:frame"):
                for embedded in self._read_objects(child):
                    if embedded.tag == qn("math:math"):
                        formula = HtmlText.from_html(etree.tostring(embedded, encoding="unicode"))
                        self._say(line, join_blocks(formula.blocks), style)
            elif tag in _PAGE_FIELDS and child.text == "<number>":  # of no slide of its own
                pass
            elif tag not in _SKIPPED:
                named = self._styles.get(child.get(qn("text:style-name")))
                inner = style._replace(
                    is_hidden=named.is_hidden or style.is_hidden,
                    is_struck=style.is_struck if named.is_struck is None else named.is_struck,
                    shift=named.shift or style.shift,
                )
                self._walk(child, line, inner)
            self._say(line, child.tail, style)

    def _say(self, line: _Line, text: str | None, style: Style) -> None:
        if not text:
            return
        if style.is_hidden or style.is_struck:
            line.unseen.append(UnseenText(text, "hidden" if style.is_hidden else "deleted"))
        else:
            line.parts.append((text, style.shift))

    def _read_rows(self, table: Any, unseen: list[UnseenText]) -> list[Row]:
        hidden, struck = self._find_columns(table)
        rows: list[list[Cell]] = []
        headers: list[bool] = []
        char_count = self._draft.char_count
        for row in table.iter(qn("table:table-row")):
            if next(row.iterancestors(qn("table:table"))) is not table:
                continue  # of a table in a cell
            cells: list[Cell] = []
            out: list[str] = []
            column = 0
            is_hidden = row.get(qn("table:visibility"), "visible") != "visible"
            for cell in row.iterchildren(qn("table:table-cell"), qn("table:covered-table-cell")):
                blocks = list(self._read_blocks(cell))
                unseen += [each for block in blocks for each in block.unseen]
                text = join_in_cell(blocks) or self._read_value(cell)
                name = cell.get(qn("table:style-name"))
                if text and (self._styles.get(name).is_struck if name else column in struck):
                    unseen.append(UnseenText(text, "deleted"))
                    text = ""
                count = _read_count(cell, "table:number-columns-repeated")
                is_covered = cell.tag == qn("table:covered-table-cell")
                if is_hidden or column in hidden:
                    out += [text] if text else []
                    text = ""
                column += count
                if not is_covered:
                    rows_spanned = _read_count(cell, "table:number-rows-spanned")
                    columns_spanned = min(
                        _read_count(cell, "table:number-columns-spanned"), MAX_COLUMNS
                    )
                    cells += [Cell(text, rows_spanned, columns_spanned)] * min(
                        count, MAX_REPEATED_CELLS
                    )
            if out:
                unseen.append(UnseenText("\t".join(out), "hidden"))
            if not is_hidden:
                is_filled = any(cell.text for cell in cells)
                count = _read_count(row, "table:number-rows-repeated") if is_filled else 1
                char_count += count * sum(len(cell.text) + 1 for cell in cells)
                self._draft.check_char_count(char_count)
                rows += [cells] * min(count, MAX_REPEATED_CELLS)
                is_header = row.getparent().tag == qn("table:table-header-rows")
                headers += [is_header] * min(count, MAX_REPEATED_CELLS)
        filled = fill_merged_cells(rows)
        if len(filled) == len(headers):
            for row, is_header in zip(filled, headers, strict=True):
                row.is_header = is_header
        return filled

    def _find_columns(self, table: Any) -> tuple[set[int], set[int]]:
        """Those that are hidden, and those whose cells are struck out if they do not say."""
        hidden: set[int] = set()
        struck: set[int] = set()
        at = 0
        for column in table.iter(qn("table:table-column")):
            count = min(_read_count(column, "table:number-columns-repeated"), MAX_COLUMNS)
            if column.get(qn("table:visibility"), "visible") != "visible":
                hidden.update(range(at, at + count))
            if self._styles.get(column.get(qn("table:default-cell-style-name"))).is_struck:
                struck.update(range(at, at + count))
            at += count
        return hidden, struck

    def _read_value(self, cell: Any) -> str:
        """What a program wrote without the text that is shown: a value, or only its formula."""
        for name in ("string-value", "value", "date-value", "boolean-value"):
            if value := cell.get(qn(f"office:{name}")):
                return str(value)
        formula = cell.get(qn("table:formula"), "").partition("=")[2]
        if not formula or cell.get(qn("office:value-type")) == "string":
            return ""
        self._formula_count += 1
        return f"={formula}"


def _read_count(element: Any, name: str) -> int:
    return int(element.get(qn(name), "1"))
