"""Excel: a page for each sheet, a table for each run of rows, values as their formats show them.

Sheets, rows and columns that are hidden, and what is struck out, are kept apart; comments on cells
and what is drawn on the sheet stand below its tables."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import compress
from math import isfinite
from pathlib import Path
from typing import IO, Any

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.blocks import Row, format_sheet
from documents.parsing.document import DocumentDraft, UnseenText
from documents.parsing.drawings import read_alternative_text, read_frame, read_references
from documents.parsing.ooxml import Package, open_package, qn
from text.cell_formats import BUILT_IN, GENERAL, format_text, format_value
from text.superscripts import join_shifted

# A reference to a cell in a formula, but not in a text, nor a part of a name.
_RELATIVE = re.compile(r'"[^"]*"|(?<![\w.$!\'])(\$?)([A-Z]{1,3})(\$?)(\d+)(?![\w(])')
_LINK = re.compile(r'HYPERLINK\("[^"]*"[,;]\s*"([^"]*)"\)', re.IGNORECASE)
_FALSE = {None, "0", "false"}
MAX_COLUMNS = 2**14


def read(path: Path, draft: DocumentDraft) -> None:
    with open_package(path, draft) as package:
        workbook = _Workbook(package)
        draft.check_page_count(len(workbook.sheets))
        for name, part, is_hidden in workbook.sheets:
            _Sheet(workbook, part, draft).add_to(draft, name, is_hidden)
        if workbook.formula_count:
            draft.warn(
                "uncalculated_formula",
                f"{workbook.formula_count:,} formulas have no value in the file and were read as "
                "formulas. Open it in a spreadsheet program and save it, to have their values.",
            )


class _Workbook:
    """What sheets share: texts, number formats and the calendar."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.formula_count = 0  # without a value
        root = package.read(package.main)
        relations = package.relations(package.main)
        properties = next(root.iter("{*}workbookPr"), None)
        self.is_1904 = properties is not None and properties.get("date1904") not in _FALSE
        self.sheets = [
            (each.get("name", ""), relation.part, each.get("state", "visible") != "visible")
            for each in root.iter("{*}sheet")
            if (relation := relations.get(each.get(qn("r:id"))))
        ]
        self.texts: list[tuple[str, str]] = []  # each with what is struck out of it
        if part := package.find(package.main, "sharedStrings"):
            with package.open(part) as stream:
                self.texts = [_read_rich_text(each) for each in iter_elements(stream, "si")]
        styles = package.read_related(package.main, "styles")
        formats = {
            int(each.get("numFmtId")): each.get("formatCode") for each in styles.iter("{*}numFmt")
        }
        self.formats = [
            (BUILT_IN | formats).get(int(each.get("numFmtId", "0")), GENERAL)
            for each in styles.iterfind("{*}cellXfs/{*}xf")
        ]
        fonts = [_is_struck(each) for each in styles.iterfind("{*}fonts/{*}font")]
        self.struck_styles = {
            number
            for number, each in enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
            if any(fonts[int(each.get("fontId", "0")) :][:1])
        }


class _Sheet:
    def __init__(self, workbook: _Workbook, part: str, draft: DocumentDraft) -> None:
        self._workbook = workbook
        self._package = workbook.package
        self._part = part
        self._draft = draft
        self._shared: dict[str, tuple[str, int, int]] = {}  # formulas with their row and column
        self._unseen: list[UnseenText] = []

    def add_to(self, draft: DocumentDraft, name: str, is_hidden: bool) -> None:
        text = format_sheet(self._read_rows(), name)
        below = [*self._read_comments(), *self._read_drawings()]
        text = "\n\n".join(filter(None, [text, *below]))
        if is_hidden:
            self._unseen.append(UnseenText(text, "hidden"))
            text = ""
        draft.add_page(text, name, unseen=self._unseen)

    def _read_rows(self) -> list[Row]:
        rows: dict[int, Row] = {}
        hidden_columns: set[int] = set()
        hidden_rows: set[int] = set()
        merged: list[tuple[int, int, int, int]] = []
        char_count = self._draft.char_count
        number = 0
        with self._package.open(self._part) as stream:
            for element in iter_elements(stream, "col", "row", "mergeCell"):
                if element.tag.endswith("}row"):
                    number = int(element.get("r", number + 1))
                    row = self._read_row(element, number)
                    is_hidden = element.get("hidden") not in _FALSE
                    if is_hidden or hidden_columns:
                        hidden = [is_hidden or at in hidden_columns for at in range(len(row))]
                        texts = filter(None, compress(row, hidden))
                        self._unseen.append(UnseenText("\t".join(texts), "hidden"))
                        row = Row(
                            "" if is_out else each for each, is_out in zip(row, hidden, strict=True)
                        )
                    rows[number] = row
                    hidden_rows |= {number} if is_hidden else set()
                    char_count += sum(map(len, row)) + len(row)
                    self._draft.check_char_count(char_count)
                elif element.tag.endswith("}mergeCell"):
                    first, _, last = element.get("ref", "").partition(":")
                    merged.append((*_find_place(first), *_find_place(last or first)))
                elif element.get("hidden") not in _FALSE:
                    last = min(int(element.get("max")), MAX_COLUMNS)
                    hidden_columns.update(range(int(element.get("min")) - 1, last))
        numbers = sorted(rows)
        for top, left, bottom, right in merged:
            first = rows.get(top, Row())
            if left >= len(first):
                continue
            if right > left:
                first.spans[left] = right - left + 1
            for number in numbers[bisect_right(numbers, top) : bisect_right(numbers, bottom)]:
                row = rows[number]
                if any(row):  # the cell is in each of its rows
                    row += [""] * (left + 1 - len(row))
                    row[left] = row[left] or first[left]
                    char_count += len(first[left])
                    self._draft.check_char_count(char_count)
        between = Row()
        return [
            each
            for number in numbers
            if number not in hidden_rows
            for each in ([rows[number]] if number - 1 in rows else [between, rows[number]])
        ]

    def _read_row(self, element: Any, number: int) -> Row:
        row = Row()
        for cell in element:
            place = cell.get("r")
            column = _find_place(place)[1] if place else len(row)
            if column >= MAX_COLUMNS:
                raise Unparsable(
                    "damaged_file", f"A sheet has a cell {place}, beyond its last column."
                )
            text = self._read_cell(cell, number, column).strip()
            if text and int(cell.get("s", "0")) in self._workbook.struck_styles:
                self._unseen.append(UnseenText(text, "deleted"))
                text = ""
            if text:
                row += [""] * (column + 1 - len(row))
                row[column] = text
            elif not place:
                row.append("")
        return row

    def _read_cell(self, cell: Any, row: int, column: int) -> str:
        kind = cell.get("t", "n")
        value, formula, struck = "", None, ""
        for child in cell:
            if child.tag.endswith("}v"):
                value = child.text or ""
            elif child.tag.endswith("}f"):
                formula = self._read_formula(child, row, column)
            elif child.tag.endswith("}is"):
                value, struck = _read_rich_text(child)
        if kind == "s" and value:
            value, struck = self._workbook.texts[int(value)]
        if struck:
            self._unseen.append(UnseenText(struck, "deleted"))
        if not value and formula and kind != "str":
            if link := _LINK.fullmatch(formula):
                return link[1]
            self._workbook.formula_count += 1
            return f"={formula}"
        if not value or kind in {"e", "b"}:
            return {"0": "FALSE", "1": "TRUE"}[value] if kind == "b" and value else value
        style = int(cell.get("s", "0"))
        formats = self._workbook.formats
        code = formats[style] if style < len(formats) else GENERAL
        if kind == "n" and isfinite(number := float(value)):
            shown = format_value(number, code, is_1904=self._workbook.is_1904)
        else:
            shown = format_text(value.removesuffix("T00:00:00") if kind == "d" else value, code)
        if not shown:  # a format can hide every value
            self._unseen.append(UnseenText(value, "hidden"))
        return shown

    def _read_formula(self, element: Any, row: int, column: int) -> str:
        """The formula of a cell; one that it shares with another has the places moved."""
        text = element.text or ""
        if element.get("t") != "shared":
            return text
        if text:
            self._shared[element.get("si")] = text, row, column
            return text
        text, first_row, first_column = self._shared.get(element.get("si"), ("", row, column))
        return _move_references(text, row - first_row, column - first_column)

    def _read_comments(self) -> Iterator[str]:
        texts: dict[str, str] = {}
        for kind, name in (("comments", "comment"), ("threadedComment", "threadedComment")):
            found: dict[str, list[str]] = {}
            for part in self._package.find_all(self._part, kind):
                for comment in self._package.read(part).iter(f"{{*}}{name}"):
                    text = comment.find("{*}text")
                    words = _read_rich_text(text)[0] or text.text or ""
                    found.setdefault(comment.get("ref", ""), []).append(" ".join(words.split()))
            texts |= {place: " / ".join(each) for place, each in found.items()}
        yield from (f"[Note] {place}: {text}" for place, text in texts.items() if text)

    def _read_drawings(self) -> Iterator[str]:
        for part in self._package.find_all(self._part, "drawing"):
            for element in self._package.read(part).iter(
                qn("xdr:cNvPr"), qn("xdr:txBody"), qn("xdr:graphicFrame")
            ):
                if next(element.iterancestors(qn("mc:Fallback")), None) is not None:
                    continue
                if element.tag == qn("xdr:cNvPr"):
                    yield from read_alternative_text(element)
                elif element.tag == qn("xdr:txBody"):
                    yield from read_frame(element, self._unseen)
                else:
                    yield from read_references(self._package, part, element)


def iter_elements(stream: IO[bytes], *names: str) -> Iterator[Any]:
    """Elements of these names, each forgotten before the next."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(stream, tag=tags, resolve_entities=False, no_network=True):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def _read_rich_text(element: Any) -> tuple[str, str]:
    """The texts of its runs, without the readings of Japanese words, and what is struck out."""
    parts, struck = [], []
    for child in element:
        if child.tag.endswith("}t"):
            parts.append((child.text or "", 0))
        elif child.tag.endswith("}r"):
            text = child.findtext("{*}t") or ""
            if _is_struck(child.find("{*}rPr")):
                struck.append(text)
                continue
            align = child.find("{*}rPr/{*}vertAlign")
            name = None if align is None else align.get("val")
            shift = {"superscript": 1, "subscript": -1}.get(name or "", 0)
            parts.append((text, shift))
    return join_shifted(parts), "".join(struck)


def _is_struck(font: Any) -> bool:
    strike = None if font is None else font.find("{*}strike")
    return strike is not None and strike.get("val", "1") not in _FALSE


@cache
def _find_column(letters: str) -> int:
    """From 0."""
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1


def _find_place(reference: str) -> tuple[int, int]:
    """The row, from 1, and the column, from 0, of "B7"."""
    letters = reference.rstrip("0123456789")
    return int(reference[len(letters) :] or 1), _find_column(letters)


def _move_references(formula: str, rows: int, columns: int) -> str:
    def move(match: re.Match[str]) -> str:
        if match[2] is None:  # a text
            return match[0]
        column = _find_column(match[2]) + (0 if match[1] else columns)
        row = int(match[4]) + (0 if match[3] else rows)
        return f"{match[1]}{_write_column(column)}{match[3]}{row}"

    return _RELATIVE.sub(move, formula)


def _write_column(column: int) -> str:
    letters = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        letters = chr(ord("A") + letter) + letters
        column -= 1
    return letters
