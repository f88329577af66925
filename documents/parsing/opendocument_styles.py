"""What styles of OpenDocument say: what is hidden, struck, raised or lowered; numbers of lists."""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, NamedTuple

from text.numerals import format_number

_PREFIXES: Final = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
    "math": "http://www.w3.org/1998/Math/MathML",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_NUMBERS: Final = {
    "1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip
MAX_LEVELS: Final = 10


@cache
def qn(name: str) -> str:
    """``text:p`` with its namespace, as lxml writes it."""
    prefix, _, local = name.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


class Style(NamedTuple):
    is_hidden: bool = False
    is_struck: bool | None = None  # None if it does not say
    shift: int = 0
    list_name: str = ""


class Styles:
    def __init__(self, roots: Iterable[Any]) -> None:
        self._elements: dict[str, Any] = {}
        self._lists: dict[str, Any] = {}
        self.outline: Any = None
        self.masters = {"Standard"}  # whose headers and footers are used
        for root in roots:
            for element in root.iter(qn("style:style")):
                self._elements[element.get(qn("style:name"), "")] = element
                self.masters.add(element.get(qn("style:master-page-name"), ""))
            for element in root.iter(qn("text:list-style")):
                self._lists[element.get(qn("style:name"), "")] = element
            for element in root.iter(qn("text:outline-style")):
                self.outline = element
        self.get = cache(self._resolve)

    def _resolve(self, name: str | None, depth: int = 0) -> Style:
        element = self._elements.get(name or "")
        if element is None or depth > MAX_LEVELS:
            return Style()
        style = self._resolve(element.get(qn("style:parent-style-name")), depth + 1)
        style = style._replace(
            list_name=element.get(qn("style:list-style-name")) or style.list_name
        )
        properties = element.find(qn("style:text-properties"))
        if properties is None:
            return style
        if display := properties.get(qn("text:display")):
            style = style._replace(is_hidden=display == "none")
        for name in ("style", "type"):
            if line := properties.get(qn(f"style:text-line-through-{name}")):
                style = style._replace(is_struck=line != "none")
        if position := properties.get(qn("style:text-position"), "").partition(" ")[0]:
            names = {"super": 1, "sub": -1}
            shift = names.get(position) or float(position.rstrip("%") or 0)
            style = style._replace(shift=(shift > 0) - (shift < 0))
        return style

    def hides(self, element: Any) -> bool:
        """Whether the style of a sheet or slide does not show it."""
        name = element.get(qn("table:style-name")) or element.get(qn("draw:style-name"))
        style = self._elements.get(name or "")
        properties = () if style is None else style
        return any(
            each.get(qn("table:display")) == "false"
            or each.get(qn("presentation:visibility")) == "hidden"
            for each in properties
        )

    def find_list(self, name: str) -> Any:
        return self._lists.get(name)


class Counter:
    """The numbers of one list or of all headings."""

    def __init__(self, levels: Any) -> None:
        self._levels = (
            {}
            if levels is None
            else {int(each.get(qn("text:level"), "1")): each for each in levels}
        )
        self._counts: dict[int, int] = {}

    def next_label(self, level: int, start: str | None = None) -> tuple[str, bool]:
        """What stands before the next paragraph, and whether it names the levels above."""
        element = self._levels.get(level)
        first = int(
            start or (element.get(qn("text:start-value"), "1") if element is not None else 1)
        )
        again = start is not None or level not in self._counts
        self._counts = {at: count for at, count in self._counts.items() if at <= level}
        self._counts[level] = first if again else self._counts[level] + 1
        if element is None or element.tag not in {
            qn("text:list-level-style-number"), qn("text:outline-level-style"),
        }:  # fmt: skip
            return "-", False
        shown = int(element.get(qn("text:display-levels"), "1"))
        numbers = [self._write(at) for at in range(level - shown + 1, level + 1)]
        label = ".".join(filter(None, numbers))
        if not self._write(level):
            return "", False
        before, after = (element.get(qn(f"style:num-{side}fix"), "") for side in ("pre", "suf"))
        return f"{before}{label}{after}".strip(), shown > 1

    def _write(self, level: int) -> str:
        element = self._levels.get(level)
        name = "" if element is None else element.get(qn("style:num-format"), "")
        first = 1 if element is None else int(element.get(qn("text:start-value"), "1"))
        number = self._counts.get(level, first)
        return format_number(number, _NUMBERS[name]) if name in _NUMBERS else ""
