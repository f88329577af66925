"""Formulas of Office files as a line of text."""

from collections.abc import Iterator
from typing import Any

from documents.parsing.ooxml import qn

# What stands before and after the parts of a formula; its signs are in its text.
_MARKS = {
    qn("m:oMath"): ("$", "$"), qn("m:d"): ("(", ")"), qn("m:rad"): ("√{", "}"),
    qn("m:num"): ("{", "}"), qn("m:den"): ("/{", "}"),
    qn("m:sub"): ("_{", "}"), qn("m:sup"): ("^{", "}"), qn("m:lim"): ("_{", "}"),
}  # fmt: skip


def read_formula(element: Any) -> str:
    return "".join(_iter_text(element))


def _iter_text(element: Any) -> Iterator[str]:
    tag = element.tag
    before, after = _MARKS.get(tag, ("", ""))
    if tag in {qn("m:t"), qn("w:t")}:
        yield element.text or ""
    elif tag == qn("m:naryPr") and element.find(qn("m:chr")) is None:
        yield "∫"  # which the format leaves out
    elif tag == qn("m:chr"):  # the sign of a sum or a product
        yield element.get(qn("m:val"), "")
    elif text := "".join(part for child in element for part in _iter_text(child)):
        yield f"{before}{text}{after}"
