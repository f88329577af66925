"""What Word's styles say of paragraphs and runs: heading, list, hidden, struck, raised, lowered."""

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from documents.parsing.numbering import MAX_LEVELS, Numbering
from documents.parsing.ooxml import is_on, qn, read_value

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_STRIKES = ("w:strike", "w:dstrike")
_OF_RUNS = set(map(qn, ("w:rStyle", "w:vanish", "w:vertAlign", "w:position", *_STRIKES)))
MIN_SHIFT = 4  # half points that a smaller letter stands above or below the line


@dataclass(frozen=True, slots=True)
class Style:
    level: int = 0  # of a heading
    list_id: str = ""
    list_level: int = 0
    is_list: bool = False
    is_hidden: bool = False
    is_struck: bool = False
    shift: int = 0


class WordStyles:
    """Looks up each style once, with those that it is based on."""

    def __init__(self, root: Any, numbering: Numbering) -> None:
        self._elements = {each.get(qn("w:styleId")): each for each in root.iter(qn("w:style"))}
        self._numbering = numbering
        self._defaults = {
            each.get(qn("w:type")): id_
            for id_, each in self._elements.items()
            if each.get(qn("w:default")) in {"1", "true", "on"}
        }
        self.get = cache(self._resolve)

    def of_paragraph(self, properties: Any) -> Style:
        """With what the paragraph itself says."""
        named = None if properties is None else read_value(properties, "w:pStyle")
        style = self.get(named or self._defaults.get("paragraph") or "")
        return style if properties is None else self._add(style, named or "", properties)

    def of_run(self, properties: Any, paragraph: Style) -> Style:
        """Only what hides, strikes and shifts it."""
        if properties is None or all(each.tag not in _OF_RUNS for each in properties):
            return paragraph
        named = self.get(read_value(properties, "w:rStyle") or "")
        merged = replace(
            paragraph,
            is_hidden=named.is_hidden or paragraph.is_hidden,
            is_struck=named.is_struck or paragraph.is_struck,
            shift=named.shift or paragraph.shift,
        )
        return _add_run(merged, properties)

    def _resolve(self, id_: str, depth: int = 0) -> Style:
        element = self._elements.get(id_)
        if element is None or depth > MAX_LEVELS:
            return Style()
        style = self._resolve(read_value(element, "w:basedOn") or "", depth + 1)
        name = (read_value(element, "w:name") or "").lower()
        if (properties := element.find(qn("w:pPr"))) is not None:
            style = self._add(style, id_, properties)
        if not style.level and (heading := _HEADING.match(name)):
            style = replace(style, level=int(heading[1]))
        elif not style.level and name == "title":
            style = replace(style, level=1)
        elif name.startswith("list "):
            style = replace(style, is_list=True)
        run = element.find(qn("w:rPr"))
        return style if run is None else _add_run(style, run)

    def _add(self, style: Style, id_: str, properties: Any) -> Style:
        outline = read_value(properties, "w:outlineLvl") or ""
        if outline.isdecimal():
            style = replace(style, level=int(outline) + 1 if int(outline) < MAX_LEVELS else 0)
        numbers = properties.find(qn("w:numPr"))
        if numbers is None:
            return style
        list_id = read_value(numbers, "w:numId") or style.list_id
        at = read_value(numbers, "w:ilvl") or ""
        level = int(at) if at.isdecimal() and int(at) < MAX_LEVELS else style.list_level
        level = self._numbering.levels_of_styles.get((list_id, id_), level) if not at else level
        return replace(style, list_id=list_id, list_level=level, is_list=list_id not in {"", "0"})


def _add_run(style: Style, properties: Any) -> Style:
    if properties.find(qn("w:vanish")) is not None:
        is_hidden = is_on(properties, "w:vanish") and not is_on(properties, "w:specVanish")
        style = replace(style, is_hidden=is_hidden)
    if any(properties.find(qn(name)) is not None for name in _STRIKES):
        style = replace(style, is_struck=any(is_on(properties, name) for name in _STRIKES))
    position = int(read_value(properties, "w:position") or 0)
    if align := read_value(properties, "w:vertAlign"):
        style = replace(style, shift={"superscript": 1, "subscript": -1}.get(align, 0))
    elif abs(position) >= MIN_SHIFT and properties.find(qn("w:sz")) is not None:
        style = replace(style, shift=1 if position > 0 else -1)
    return style
