"""Where the parts of a JSON text stand in it, so that a message can name the line."""

import json
import re
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Located:
    """A value, and where it begins. ``key_at``: where its key does, in an object."""

    value: Any
    at: int
    key: str = ""
    key_at: int = -1


def list_parts(text: str, at: int = 0) -> list[Located]:
    """The parts of the list that begins at ``at``, in a text that is JSON."""
    parts = []
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "]":
        value, end = _decode(text, at)
        parts.append(Located(value, at))
        at = _next(text, end)
    return parts


def object_parts(text: str, at: int) -> list[Located]:
    """The parts of the object that begins at ``at``, those under the same key included."""
    parts = []
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "}":
        key_at = at
        key, end = _decode(text, at)
        at = _skip(text, _skip(text, end) + 1)
        value, end = _decode(text, at)
        parts.append(Located(value, at, key, key_at))
        at = _next(text, end)
    return parts


def line_at(text: str, at: int) -> int:
    """Counted from 1."""
    return text.count("\n", 0, at) + 1


def _next(text: str, end: int) -> int:
    """Where what follows a part begins, past the comma."""
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it matches nothing, too
    return found.end()
