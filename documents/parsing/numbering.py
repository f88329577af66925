"""The numbers that Word gives to paragraphs of lists, headings and clauses."""

import re
from dataclasses import dataclass, replace
from typing import Any

from documents.parsing.ooxml import is_on, qn, read_value
from text.numerals import format_number

MAX_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class Level:
    start: int = 1
    style: str = "decimal"
    pattern: str = ""  # "%1.%2" for the numbers of the first two levels
    restart: int = MAX_LEVELS  # only levels before this one restart it
    is_legal: bool = False  # all numbers in digits

    @classmethod
    def read(cls, element: Any) -> "Level":
        number_format = element.find(f".//{qn('w:numFmt')}")
        return cls(
            start=_read_int(element, "w:start", 1),
            style="decimal" if number_format is None else _read_style(number_format),
            pattern=read_value(element, "w:lvlText") or "",
            restart=_read_int(element, "w:lvlRestart", MAX_LEVELS),
            is_legal=is_on(element, "w:isLgl"),
        )

    def format(self, number: int) -> str:
        if self.style.startswith("0"):
            return str(number).zfill(len(self.style))
        return format_number(number, self.style)


class Numbering:
    """Counts in the order of the document; the levels of lists with the same definition share their
    numbers."""

    def __init__(self, root: Any) -> None:
        self.levels_of_styles: dict[tuple[str, str], int] = {}  # by list and style
        self._counts: dict[str, list[int | None]] = {}  # by definition
        self._started: set[tuple[str, int]] = set()
        self._levels: dict[str, dict[int, Level]] = {}  # by list
        self._starts: dict[tuple[str, int], int] = {}
        self._definitions: dict[str, str] = {}
        definitions = {
            each.get(qn("w:abstractNumId")): each for each in root.iter(qn("w:abstractNum"))
        }
        by_style = {read_value(each, "w:styleLink"): id_ for id_, each in definitions.items()}
        for each in root.iter(qn("w:num")):
            id_ = each.get(qn("w:numId"), "")
            name = read_value(each, "w:abstractNumId") or ""
            if name in definitions and (link := read_value(definitions[name], "w:numStyleLink")):
                name = by_style.get(link, name)
            self._definitions[id_] = name
            levels = self._levels[id_] = {}
            if name in definitions:
                self._read_levels(id_, definitions[name])
            for change in each.iter(qn("w:lvlOverride")):
                self._read_levels(id_, change)
                at = _level_of(change)
                start = read_value(change, "w:startOverride") or ""
                if start.isdecimal():
                    self._starts[id_, at] = int(start)
                    levels[at] = replace(levels.get(at, Level()), start=int(start))

    def _read_levels(self, id_: str, parent: Any) -> None:
        for element in parent.iterchildren(qn("w:lvl")):
            at = _level_of(element)
            self._levels[id_][at] = Level.read(element)
            if style := read_value(element, "w:pStyle"):
                self.levels_of_styles[id_, style] = at

    def is_list(self, id_: str) -> bool:
        return id_ in self._levels

    def next_label(self, id_: str, at: int) -> tuple[str, bool]:
        """What stands before the next paragraph of the list: "-" for a point, "" for nothing; and
        whether it names the levels above."""
        levels = self._levels[id_]
        level = levels.get(at, Level())
        counts = self._counts.setdefault(self._definitions[id_], [None] * MAX_LEVELS)
        before = counts[at]
        if (id_, at) in self._starts and (id_, at) not in self._started:
            before = None
            self._started.add((id_, at))
        counts[at] = level.start if before is None else before + 1
        for lower in range(at + 1, MAX_LEVELS):
            if at < levels.get(lower, Level()).restart:
                counts[lower] = None
        if level.style == "bullet" or at not in levels:
            return "-", False

        def write(place: re.Match[str]) -> str:
            other = int(place[1]) - 1
            shown = levels.get(other, Level())
            count = counts[other] if counts[other] is not None else shown.start
            assert count is not None
            return str(count) if level.is_legal else shown.format(count)

        label = _PLACE.sub(write, level.pattern).strip()
        return label, len(_PLACE.findall(level.pattern)) > 1


def _read_style(element: Any) -> str:
    """Word's name, or the zeros of a custom format: "001, 002, …" gives "000"."""
    custom = element.get(qn("w:format")) or ""
    zeros = re.match(r"0+1,", custom)
    return "0" * (len(zeros[0]) - 1) if zeros else element.get(qn("w:val")) or "decimal"


def _level_of(element: Any) -> int:
    value = element.get(qn("w:ilvl")) or ""
    return int(value) if value.isdecimal() and int(value) < MAX_LEVELS else 0


def _read_int(element: Any, name: str, default: int) -> int:
    value = read_value(element, name) or ""
    return int(value) if value.isdecimal() else default
