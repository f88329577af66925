"""Charts of Office files as text: the title, then a table of categories and series."""

from typing import Any, Final

from lxml import etree

from documents.parsing.archives import make_xml_parser
from documents.parsing.blocks import format_table, join_blocks

_NAMES: Final = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
}


def read_chart(xml: bytes) -> str:
    """The values that the file keeps beside the chart, so its workbook is not opened. In a scatter
    the x values stand in place of categories. Takes linear time, as python-pptx does not."""
    chart = etree.fromstring(xml, make_xml_parser())
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
