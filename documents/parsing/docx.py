"""Word: paragraphs, lists and tables in document order, a page for each top heading.

Text that is hidden, struck out or was deleted is kept apart. Headers and footers that the pages
show are read once: the headers at the start, the footers at the end. Comments are left out."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from pathlib import Path
from typing import Any

from documents.parsing.archives import check_office_archive, open_archive
from documents.parsing.blocks import (
    LIST_INDENT,
    PAGE_NUMBER,
    Block,
    Row,
    add_sections,
    format_table,
    join_in_cell,
    put_margins,
    read_margin,
)
from documents.parsing.document import DocumentDraft, UnseenText
from documents.parsing.drawings import read_alternative_text, read_references
from documents.parsing.html import HtmlText, find_declared_encoding
from documents.parsing.numbering import Numbering
from documents.parsing.omml import read_formula
from documents.parsing.ooxml import Package, is_on, open_package, qn, read_value
from documents.parsing.rtf import RtfReader
from documents.parsing.text import decode_text
from documents.parsing.word_styles import Style, WordStyles
from text.numerals import format_number
from text.superscripts import join_shifted

_CHECKBOXES = str.maketrans({"\u2610": "[ ]", "\u2611": "[x]", "\u2612": "[x]"})
_PAGE_FIELD = re.compile(r"\s*(PAGE|NUMPAGES|SECTIONPAGES)\b")
MAX_COLUMNS = 63  # of a table, as Word's
_PARAGRAPH, _TABLE, _RUN = qn("w:p"), qn("w:tbl"), qn("w:r")
_TEXTS = {qn("w:t"), qn("w:delText")}
_FORMULAS = {qn("m:oMath"), qn("m:oMathPara")}
_DRAWINGS = {qn("wp:docPr"), qn("c:chart"), qn("dgm:relIds"), qn("a:p")}
_SKIPPED_TAGS = {qn("w:pPr"), qn("w:rPr"), qn("w:delInstrText"), qn("w:sdtPr")}
_CHARACTERS = {
    qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}  # fmt: skip
# Letters of the font Symbol, whose codes are Latin letters, and signs of Wingdings.
_SYMBOLS = dict(
    zip(
        "ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw°±²³´¹£®",
        "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρστυφχψω°±″≥×≠≤→",
        strict=True,
    )
)
_WINGDINGS = {0x6F: "[ ]", 0x71: "[ ]", 0xA8: "[ ]", 0xFD: "[x]", 0xFE: "[x]", 0xFC: "✓", 0xFB: "✗"}
_NOTES = {
    qn("w:footnoteReference"): ("footnote", "decimal"),
    qn("w:endnoteReference"): ("endnote", "lowerRoman"),
}


def read(path: Path, draft: DocumentDraft) -> None:
    with open_package(path, draft) as package:
        add_sections(draft, WordReader(package, draft).blocks())


@dataclass(slots=True)
class _Line:
    """A paragraph's parts: texts with their shift, what belongs below it, and what is not seen."""

    parts: list[tuple[str, int]] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)
    unseen: dict[str, list[str]] = field(default_factory=dict)
    fields: list[str | None] = field(default_factory=list)  # instructions; None within a result

    @property
    def text(self) -> str:
        return join_shifted(self.parts).strip()


class WordReader:
    """Reads the parts of a document. ``depth``: 1 for a document within a document."""

    def __init__(self, package: Package, draft: DocumentDraft, depth: int = 0) -> None:
        self._package = package
        self._draft = draft
        self._depth = depth
        self._part = package.main
        self._numbering = Numbering(package.read_related(package.main, "numbering"))
        self._styles = WordStyles(package.read_related(package.main, "styles"), self._numbering)
        self._notes = {
            (kind, note.get(qn("w:id"))): note
            for kind in ("footnote", "endnote")
            for note in package.read_related(package.main, f"{kind}s").iter(qn(f"w:{kind}"))
        }
        self._note_counts = {"footnote": 0, "endnote": 0}

    def blocks(self) -> Iterator[Block]:
        body = self._package.read(self._part)
        headers, footers = self._read_margins(body)
        return put_margins(self._read_blocks(body), headers, footers)

    def _read_margins(self, body: Any) -> tuple[list[str], list[str]]:
        """The headers and footers that the pages show."""
        settings = self._package.read_related(self._package.main, "settings")
        has_even = is_on(settings, "w:evenAndOddHeaders")
        found: dict[str, list[str]] = {"header": [], "footer": []}
        for section in body.iter(qn("w:sectPr")):
            shown = {"default", "even" * has_even, "first" * is_on(section, "w:titlePg")}
            for kind, texts in found.items():
                for reference in section.iterchildren(qn(f"w:{kind}Reference")):
                    id_ = reference.get(qn("r:id"))
                    part = self._package.relations(self._package.main).get(id_)
                    if part and reference.get(qn("w:type"), "default") in shown:
                        texts += self._read_margin(part.part)
        return found["header"], found["footer"]

    def _read_margin(self, part: str) -> list[str]:
        self._part, before = part, self._part
        texts = read_margin(self._read_blocks(self._package.read(part)))
        self._part = before
        return texts

    def _read_blocks(self, parent: Any) -> Iterator[Block]:
        for element in parent:
            tag = element.tag
            if tag == _PARAGRAPH:
                yield from self._read_paragraph(element)
            elif tag == _TABLE:
                yield from self._read_table(element)
            elif tag == qn("w:altChunk"):
                relation = self._package.relations(self._part).get(element.get(qn("r:id")))
                if relation is not None:
                    yield from self._read_chunk(relation.part)
            elif tag not in _SKIPPED_TAGS and not _is_fallback(element):
                yield from self._read_blocks(element)  # content controls, custom XML, insertions

    def _read_chunk(self, part: str) -> Iterator[Block]:
        """A document of another format that Word shows in this place."""
        data = self._package.read_bytes(part)
        if data.startswith(b"PK") and not self._depth:
            file = io.BytesIO(data)
            check_office_archive(file, self._draft.limits)
            with open_archive(file, self._draft.limits) as archive:
                yield from WordReader(Package(archive), self._draft, depth=1).blocks()
        elif data.startswith(b"{\\rtf"):
            yield from RtfReader(data).blocks()
        else:
            if data[:500].lower().lstrip().startswith((b"mime-version", b"content-type", b"from:")):
                parts = message_from_bytes(data).walk()
                pages = (each for each in parts if each.get_content_type() == "text/html")
                data = b"".join(bytes(each.get_payload(decode=True)) for each in pages)
            text = decode_text(data, self._draft, declared=find_declared_encoding(data[:4096]))
            yield from HtmlText.from_html(text).blocks

    def _read_paragraph(self, paragraph: Any) -> Iterator[Block]:
        properties = paragraph.find(qn("w:pPr"))
        style = self._styles.of_paragraph(properties)
        line = _Line()
        self._walk(paragraph, line, style)
        text = line.text
        if self._part == self._package.main:
            text = text.replace(PAGE_NUMBER, "")
        unseen = tuple(UnseenText("".join(each), reason) for reason, each in line.unseen.items())
        label, names_parents = self._read_label(style, properties, text)
        if text and style.level:
            heading = " ".join(f"{label.removeprefix('-')} {text}".split())
            yield Block(heading, level=min(style.level, 6), unseen=unseen)
        elif text and label:
            indent = "" if names_parents else LIST_INDENT * style.list_level
            yield Block(f"{indent}{label} {text}", run="list", unseen=unseen)
        elif text.startswith(("[ ]", "[x]")):
            yield Block(f"- {text}", run="list", unseen=unseen)
        elif text or unseen:
            yield Block(text, unseen=unseen)
        for box in line.boxes:
            yield from self._read_blocks(box)
        if line.readings:
            line.below.append(f"[Reading] {', '.join(line.readings)}")
        for below in line.below:
            yield Block(below)

    def _read_label(self, style: Style, properties: Any, text: str) -> tuple[str, bool]:
        """What stands before the paragraph, and whether it names the levels above. A paragraph that
        is hidden or was deleted as a whole is not counted."""
        marks = None if properties is None else properties.find(qn("w:rPr"))
        if marks is not None and not text and (is_on(marks, "w:del") or is_on(marks, "w:vanish")):
            return "", False
        if self._numbering.is_list(style.list_id):
            return self._numbering.next_label(style.list_id, style.list_level)
        return "-" if style.is_list else "", False

    def _walk(self, parent: Any, line: _Line, style: Style, reason: str = "") -> None:
        """Add what is in the element to the line; ``reason``: why nothing of it is seen."""
        for element in parent:
            tag = element.tag
            if tag in _SKIPPED_TAGS:
                continue
            if tag == _RUN:
                properties = element.find(qn("w:rPr"))
                run = self._styles.of_run(properties, style)
                hidden = "hidden" if run.is_hidden else "deleted" if run.is_struck else ""
                self._walk(element, line, run, reason or hidden)
            elif tag in _TEXTS:
                self._say(line, _read_letters(element, parent), style.shift, reason)
            elif tag in _CHARACTERS:
                self._say(line, _CHARACTERS[tag], 0, reason)
            elif tag == qn("w:sym"):
                sign = _read_symbol(element).translate(_CHECKBOXES)
                self._say(line, sign, style.shift, reason)
            elif tag == qn("w:del"):
                self._walk(element, line, style, "deleted")
            elif tag == qn("w:moveFrom"):  # read at its new place
                continue
            elif tag == qn("w:fldChar"):
                self._read_field(element, line)
            elif tag == qn("w:instrText"):
                if line.fields and line.fields[-1] is not None:
                    line.fields[-1] += element.text or ""
            elif tag == qn("w:fldSimple") and _PAGE_FIELD.match(element.get(qn("w:instr"), "")):
                self._say(line, PAGE_NUMBER, 0, reason)
                self._walk(element, line, style, reason)
            elif tag in _NOTES and not reason:
                self._read_note(element, line)
            elif tag == qn("w:ruby"):
                base, above = _Line(), _Line()
                for name, part in (("w:rubyBase", base), ("w:rt", above)):
                    self._walk(element.find(qn(name)), part, Style())
                self._say(line, base.text, 0, reason)
                line.readings.append(f"{base.text}: {above.text}")
            elif tag in _FORMULAS:
                self._say(line, read_formula(element), 0, reason)
            elif tag == qn("w:txbxContent"):
                if reason:
                    self._say(line, "".join(element.itertext(qn("w:t"))), 0, reason)
                else:
                    line.boxes.append(element)
            elif tag in _DRAWINGS:
                if not reason:
                    line.below += self._read_drawing(element)
            elif not _is_fallback(element):
                self._walk(element, line, style, reason)

    def _say(self, line: _Line, text: str, shift: int, reason: str) -> None:
        if reason:
            line.unseen.setdefault(reason, []).append(text)
        elif all(each is None for each in line.fields):
            line.parts.append((text, shift))

    def _read_field(self, element: Any, line: _Line) -> None:
        kind = element.get(qn("w:fldCharType"))
        if kind == "begin":
            line.fields.append("")
        elif line.fields:
            if _PAGE_FIELD.match(line.fields[-1] or ""):
                line.parts.append((PAGE_NUMBER, 0))
            line.fields[-1] = None
            if kind == "end":
                line.fields.pop()
        if (form := element.find(qn("w:ffData"))) is None:
            return
        if (box := form.find(qn("w:checkBox"))) is not None:
            name = "w:default" if box.find(qn("w:checked")) is None else "w:checked"
            line.parts.append(("[x]" if is_on(box, name) else "[ ]", 0))
        elif (choice := form.find(qn("w:ddList"))) is not None:
            entries = [each.get(qn("w:val"), "") for each in choice.iter(qn("w:listEntry"))]
            at = int(read_value(choice, "w:result") or read_value(choice, "w:default") or 0)
            line.parts.append(("".join(entries[at : at + 1]), 0))

    def _read_note(self, reference: Any, line: _Line) -> None:
        """Its number where Word shows it, and the note below the paragraph."""
        kind, numbers = _NOTES[reference.tag]
        note = self._notes.get((kind, reference.get(qn("w:id"))))
        mark = ""
        if reference.get(qn("w:customMarkFollows")) not in {"1", "true", "on"}:
            self._note_counts[kind] += 1
            mark = format_number(self._note_counts[kind], numbers)
            self._say(line, mark, 1, "")
        if note is not None:
            text = join_in_cell(self._read_blocks(note))
            line.below.append(f"[Note {mark}] {text}" if mark else f"[Note] {text}")

    def _read_drawing(self, element: Any) -> list[str]:
        if element.tag == qn("a:p"):
            return ["".join(element.itertext(qn("a:t")))]
        if element.tag == qn("wp:docPr"):
            return read_alternative_text(element)
        return list(read_references(self._package, self._part, element))

    def _read_table(self, table: Any) -> list[Block]:
        rows = [
            (
                row.find(qn("w:trPr")),
                [
                    (cell, list(self._read_blocks(cell)))
                    for cell in row.iter(qn("w:tc"))
                    if next(cell.iterancestors(qn("w:tr"))) is row
                ],
            )
            for row in table.iter(qn("w:tr"))
            if next(row.iterancestors(qn("w:tbl"))) is table
        ]
        cells = [blocks for _, row in rows for _, blocks in row]
        has_one_column = all(len(row) == 1 for _, row in rows)
        has_layout = any(block.level or block.run == "table" for each in cells for block in each)
        if has_one_column and (len(rows) == 1 or has_layout):  # a frame around text or a table
            return [block for blocks in cells for block in blocks]
        filled: list[Row] = []
        unseen = [each for blocks in cells for block in blocks for each in block.unseen]
        for properties, row in rows:
            reason = "" if properties is None else _find_reason(properties)
            if reason:
                texts = (join_in_cell(blocks) for _, blocks in row)
                unseen.append(UnseenText("\t".join(texts), reason))
                continue
            before = 0 if properties is None else int(read_value(properties, "w:gridBefore") or 0)
            before = min(before, MAX_COLUMNS)
            is_header = properties is not None and is_on(properties, "w:tblHeader")
            filled.append(Row([""] * before, is_header=is_header))
            for cell, blocks in row:
                column = len(filled[-1])
                merged = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
                span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
                count = 1 if span is None else min(int(span.get(qn("w:val"), "1")), MAX_COLUMNS)
                text = join_in_cell(blocks)
                is_continued = merged is not None and merged.get(qn("w:val")) != "restart"
                if is_continued and len(filled) > 1:  # merged with the cell above
                    text = "".join(filled[-2][column : column + 1])
                if count > 1:
                    filled[-1].spans[column] = count
                filled[-1] += [text, *[""] * (count - 1)]
        blocks = format_table(filled, may_have_one_column=True)
        return [*blocks, Block("", unseen=tuple(unseen))]


def _find_reason(row: Any) -> str:
    """Why a row of a table is not seen."""
    if row.find(qn("w:del")) is not None:
        return "deleted"
    return "hidden" if is_on(row, "w:hidden") else ""


def _is_fallback(element: Any) -> bool:
    """Whether it is a drawing's second form, for old programs."""
    return element.tag == qn("mc:Fallback") and element.getprevious() is not None


def _read_letters(element: Any, run: Any) -> str:
    """The text of a run; letters of fonts of signs have codes of their own."""
    text = element.text or ""
    if not text or (text.isascii() and text.isprintable()):
        return text
    if "\uf000" <= max(text) <= "\uf0ff":
        fonts = run.find(f"{qn('w:rPr')}/{qn('w:rFonts')}")
        font = "" if fonts is None else fonts.get(qn("w:ascii"), "")
        text = "".join(_read_sign(font, ord(each)) or each for each in text)
    return text.translate(_CHECKBOXES)


def _read_symbol(element: Any) -> str:
    code = int(element.get(qn("w:char"), "0"), 16)
    return _read_sign(element.get(qn("w:font"), ""), code) or chr(code)


def _read_sign(font: str, code: int) -> str:
    """ "" if it is not known."""
    if not 0xF020 <= code <= 0xF0FF:
        return ""
    if font.startswith("Wingdings"):
        return _WINGDINGS.get(code - 0xF000, "")
    return _SYMBOLS.get(chr(code - 0xF000), "") if font.startswith("Symbol") else ""
