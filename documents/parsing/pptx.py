"""PowerPoint: one page for each slide, in order, with its speaker notes at the end. What a hidden
slide or a hidden shape says, and what is struck out, is kept apart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from documents.parsing.blocks import Cell, fill_merged_cells, format_table, join_blocks
from documents.parsing.document import DocumentDraft, UnseenText
from documents.parsing.drawings import (
    read_alternative_text,
    read_frame,
    read_references,
)
from documents.parsing.ooxml import Package, open_package, qn

_FALSE = {"0", "false"}
MAX_COLUMNS = 1_000  # of a table
_TITLES = {"title", "ctrTitle"}
_NOT_NOTES = {"sldImg", "sldNum", "hdr", "ftr", "dt"}


def read(path: Path, draft: DocumentDraft) -> None:
    with open_package(path, draft) as package:
        slides = package.relations(package.main)
        presentation = package.read(package.main)
        ids = [each.get(qn("r:id")) for each in presentation.iter(qn("p:sldId"))]
        draft.check_page_count(len(ids))
        for number, id_ in enumerate(ids, start=1):
            _Slide(package, slides[id_].part).add_to(draft, number)


class _Slide:
    def __init__(self, package: Package, part: str) -> None:
        self._package = package
        self._part = part
        self._title = ""
        self._unseen: list[UnseenText] = []

    def add_to(self, draft: DocumentDraft, number: int) -> None:
        slide = self._package.read(self._part)
        texts = list(self._read_shapes(slide.find(f"{qn('p:cSld')}/{qn('p:spTree')}")))
        if self._title:
            texts.insert(0, f"# {self._title}")
        if notes := self._package.find(self._part, "notesSlide"):
            for shape in self._package.read(notes).iter(qn("p:sp")):
                if _placeholder_of(shape) not in _NOT_NOTES:
                    texts += read_frame(shape.find(qn("p:txBody")), self._unseen)
        text = "\n\n".join(filter(str.strip, texts))
        if slide.get("show") in _FALSE:
            self._unseen.append(UnseenText(text, "hidden"))
            text = self._title = ""
        label = f"Slide {number}: {self._title}" if self._title else f"Slide {number}"
        draft.add_page(text, label, unseen=self._unseen)
        draft.propose_title(self._title)

    def _read_shapes(self, parent: Any) -> Iterator[str]:
        for shape in parent:
            properties = next(shape.iter(qn("p:cNvPr")), None)
            if properties is not None and properties.get("hidden") not in {None, *_FALSE}:
                self._unseen += [
                    UnseenText("\n".join(read_frame(each, self._unseen)), "hidden")
                    for each in shape.iter(qn("p:txBody"))
                ]
            elif shape.tag in {qn("p:grpSp"), qn("mc:AlternateContent"), qn("mc:Choice")}:
                yield from self._read_shapes(shape)
            elif shape.tag == qn("mc:Fallback"):
                if shape.getprevious() is None:
                    yield from self._read_shapes(shape)
            elif shape.tag in {qn("p:sp"), qn("p:cxnSp")}:
                texts = read_frame(shape.find(qn("p:txBody")), self._unseen)
                if _placeholder_of(shape) in _TITLES and not self._title:
                    self._title = " ".join(" ".join(texts).split())
                else:
                    yield from texts or read_alternative_text(properties)
            elif properties is not None:
                yield from self._read_graphic(shape)
                yield from read_alternative_text(properties)

    def _read_graphic(self, shape: Any) -> Iterator[str]:
        for table in shape.iter(qn("a:tbl")):
            rows = (
                [
                    Cell(
                        "\n".join(read_frame(cell.find(qn("a:txBody")), self._unseen)),
                        int(cell.get("rowSpan", "1")),
                        min(int(cell.get("gridSpan", "1")), MAX_COLUMNS),
                    )
                    for cell in row.iterchildren(qn("a:tc"))
                    if cell.get("hMerge", "0") in _FALSE and cell.get("vMerge", "0") in _FALSE
                ]
                for row in table.iterchildren(qn("a:tr"))
            )
            yield join_blocks(format_table(fill_merged_cells(rows)))
        yield from read_references(self._package, self._part, shape)


def _placeholder_of(shape: Any) -> str | None:
    placeholder = next(shape.iter(qn("p:ph")), None)
    return None if placeholder is None else placeholder.get("type", "obj")
