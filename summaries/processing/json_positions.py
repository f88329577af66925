"""Find the positions of values in a JSON text, so that an error message can name the line."""

import json
import re
from dataclasses import dataclass
from typing import Any

_JSON_WHITESPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value and its start in the text. ``key_at``: the start of its key, in an object."""

    value: Any
    at: int
    key: str = ""
    key_at: int = -1


def locate_list_elements(text: str, at: int = 0) -> list[LocatedValue]:
    """Locate the elements of the list that begins at ``at`` in a valid JSON text."""
    parts = []
    at = _skip_whitespace(text, _skip_whitespace(text, at) + 1)
    while text[at] != "]":
        value, end = _decode(text, at)
        parts.append(LocatedValue(value, at))
        at = _skip_comma(text, end)
    return parts


def locate_object_members(text: str, at: int) -> list[LocatedValue]:
    """Locate the members of the object that begins at ``at``, including duplicate keys."""
    parts = []
    at = _skip_whitespace(text, _skip_whitespace(text, at) + 1)
    while text[at] != "}":
        key_at = at
        key, end = _decode(text, at)
        at = _skip_whitespace(text, _skip_whitespace(text, end) + 1)
        value, end = _decode(text, at)
        parts.append(LocatedValue(value, at, key, key_at))
        at = _skip_comma(text, end)
    return parts


def line_number_at(text: str, at: int) -> int:
    """Return the line number of a position, counted from 1."""
    return text.count("\n", 0, at) + 1


def _skip_comma(text: str, end: int) -> int:
    """Return where the next part begins, after the comma."""
    at = _skip_whitespace(text, end)
    return _skip_whitespace(text, at + 1) if text[at] == "," else at


def _skip_whitespace(text: str, at: int) -> int:
    found = _JSON_WHITESPACE.match(text, at)
    assert found is not None  # the pattern also matches the empty string
    return found.end()
