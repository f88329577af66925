"""Drawings of Office files as text: charts, diagrams of SmartArt, and what stands for pictures."""

import re
from collections.abc import Iterator
from typing import Any, Final

from documents.parsing.blocks import LIST_INDENT, format_table, join_blocks
from documents.parsing.document import UnseenText
from documents.parsing.omml import read_formula
from documents.parsing.ooxml import Package, qn
from text.numerals import format_number
from text.superscripts import join_shifted

_NAMES: Final = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
}


MIN_DESCRIPTION_BYTES: Final = 16
_PLACEHOLDER: Final = re.compile(r"[<‹].*[>›]")
_FILE_NAME: Final = re.compile(r"\S*\.\w{3,4}|https?:\S+", re.IGNORECASE)

# The names of numbers in DrawingML (ECMA-376 part 1, 20.1.10.61) are one of these and their signs.
_NUMBERS = {
    "arabic": "decimal", "romanUc": "upperRoman", "romanLc": "lowerRoman",
    "alphaUc": "upperLetter", "alphaLc": "lowerLetter",
}  # fmt: skip
_SIGNS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}"}


def read_frame(frame: Any, unseen: list[UnseenText]) -> list[str]:
    """Its text, with the numbers of lists; nothing if it has none. What is struck out is added to
    ``unseen``."""
    if frame is None:
        return []
    lines = []
    counts: dict[int, int] = {}  # by level of the open lists
    for paragraph in frame.iterchildren(qn("a:p")):
        struck: list[str] = []
        text = join_shifted(_iter_parts(paragraph, struck))
        unseen += [UnseenText("".join(struck), "deleted")] if struck else []
        properties = paragraph.find(qn("a:pPr"))
        level = 0 if properties is None else int(properties.get("lvl", "0"))
        numbered = None if properties is None else properties.find(qn("a:buAutoNum"))
        counts = {other: count for other, count in counts.items() if other <= level}
        if numbered is None:
            counts.pop(level, None)
        elif text.strip() or struck:
            counts[level] = counts.get(level, int(numbered.get("startAt", "1")) - 1) + 1
            number = _format_number(counts[level], numbered.get("type", ""))
            text = f"{number} {text}" if text.strip() else ""
        lines.append(text)
    text = "\n".join(lines).strip()
    return [text] if text else []


def _format_number(number: int, name: str) -> str:
    sign = next((each for each in _SIGNS if name.endswith(each)), "Plain")
    return _SIGNS[sign].format(format_number(number, _NUMBERS.get(name.removesuffix(sign), "")))


def _iter_parts(parent: Any, struck: list[str]) -> Iterator[tuple[str, int]]:
    for element in parent:
        if element.tag in {qn("a:r"), qn("a:fld")}:
            properties = element.find(qn("a:rPr"))
            baseline = (
                0 if properties is None else float(properties.get("baseline", "0").rstrip("%"))
            )
            text = (element.findtext(qn("a:t")) or "").replace("\v", "\n")
            if element.tag == qn("a:fld") and _PLACEHOLDER.fullmatch(text):
                continue  # the number of a slide, which programs write when they show it
            if properties is not None and properties.get("strike", "noStrike") != "noStrike":
                struck.append(text)
                continue
            yield text, (baseline > 0) - (baseline < 0)
        elif element.tag == qn("a:br"):
            yield "\n", 0
        elif element.tag in {qn("m:oMath"), qn("m:oMathPara")}:
            yield read_formula(element), 0
        elif element.tag != qn("mc:Fallback"):
            yield from _iter_parts(element, struck)


def read_references(package: Package, part: str, drawing: Any) -> Iterator[str]:
    """The charts and diagrams that a drawing in the part refers to."""
    for reference in drawing.iter(qn("c:chart"), qn("dgm:relIds")):
        is_chart = reference.tag == qn("c:chart")
        relation = package.relations(part).get(reference.get(qn("r:id" if is_chart else "r:dm")))
        if relation is not None:
            yield (read_chart if is_chart else read_diagram)(package.read(relation.part))


def read_chart(chart: Any) -> str:
    """The title, then a table of categories and series: the values that the file keeps beside the
    chart, so its workbook is not opened. In a scatter the x values stand in place of categories."""
    title = " ".join(
        "".join(chart.xpath("./c:chart/c:title//a:t/text()", namespaces=_NAMES)).split()
    )
    categories: dict[int, str] = {}
    names: list[str] = []
    columns: list[dict[int, str]] = []
    for series in chart.iterfind(".//c:plotArea//c:ser", _NAMES):
        names.append(
            " ".join("".join(series.xpath("./c:tx//c:v/text()", namespaces=_NAMES)).split())
        )
        columns.append(_read_points(series, "c:val", "c:yVal"))
        for row, category in _read_points(series, "c:cat", "c:xVal").items():
            categories.setdefault(row, category)
    rows = sorted({row for column in columns for row in column})
    table = [
        ["", *names],
        *([categories.get(row, ""), *(each.get(row, "") for each in columns)] for row in rows),
    ]
    return "\n".join(filter(None, [title, join_blocks(format_table(table))]))


def read_diagram(diagram: Any) -> str:
    """The texts of its points as a list, in the order of the drawing."""
    texts = {
        point.get("modelId"): " ".join(
            "".join(paragraph.itertext(qn("a:t")))
            for paragraph in point.iterfind(f"{qn('dgm:t')}//{qn('a:p')}")
        )
        for point in diagram.iter(qn("dgm:pt"))
        if point.get("type", "node") in {"node", "asst", "doc"}
    }
    children: dict[str, list[str]] = {}
    links = [each for each in diagram.iter(qn("dgm:cxn")) if each.get("type", "parOf") == "parOf"]
    for link in sorted(links, key=lambda each: int(each.get("srcOrd", "0"))):
        children.setdefault(link.get("srcId"), []).append(link.get("destId"))
    below = {each for group in children.values() for each in group}

    def write(points: list[str], depth: int) -> Iterator[str]:
        for point in points:
            text = " ".join(
                texts.pop(point, "").split()
            )  # each point once, though links may circle
            if text:
                yield f"{LIST_INDENT * depth}- {text}"
            yield from write(children.pop(point, []), depth + bool(text))

    return "\n".join(write([each for each in texts if each not in below], 0))


def read_alternative_text(properties: Any) -> list[str]:
    """What an author wrote for those who do not see a picture or a shape: no file's name, and no
    name of two words such as a logo has."""
    text = " ".join((properties.get("descr") or "").split())
    is_file = _FILE_NAME.fullmatch(text)
    return [] if is_file or len(text.encode()) < MIN_DESCRIPTION_BYTES else [f"[Image] {text}"]


def _read_points(series: Any, *tags: str) -> dict[int, str]:
    """Position -> value, of the first of these elements; of categories in levels, the lowest."""
    for tag in tags:
        if (values := series.find(tag, _NAMES)) is not None:
            level = values.find(".//c:lvl", _NAMES)
            points = (values if level is None else level).iterfind(".//c:pt", _NAMES)
            return {
                int(point.get("idx", "0")): _format(point.findtext("c:v", "", _NAMES))
                for point in points
            }
    return {}


def _format(value: str) -> str:
    """A number without the digits that binary fractions add; other text with simple spaces."""
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return " ".join(value.split())
