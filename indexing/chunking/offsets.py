"""Find where pieces of a text come from, given their order.

The first occurrence is often not the right one: in repeated text a piece has many. Offsets are
code points.
"""

import html
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

Span = tuple[int, int]

_CHARACTER = re.compile(r"\S")
_CHARACTER_OF_MARKUP = re.compile(
    r"(?P<markup> <!--.*?--> | </?[a-z!][^<>]*> ) | &(?:\#\w{1,8}|\w{1,32}); | \S",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_JSON_ELEMENT = re.compile(r"[^\s,]")


def locate(text: str, pieces: Sequence[str], *, is_markup: bool = False) -> list[Span | None]:
    """Where each piece stands in the text, white space aside; None for one that does not.

    Each begins and ends after the piece before it does, and all later pieces must have a place
    too. Of several such places it is given the last one that leaves no gap after the piece before
    it, else the next one.

    Args:
        is_markup: the text is HTML, and the pieces are what it shows, which overlap nowhere.
    """
    shown = _find_shown_characters(text, is_markup=is_markup)
    characters = shown.characters
    sought = ["".join(piece.split()) for piece in pieces]
    spans: list[Span | None] = []
    start, end = -1, 0  # of the piece before, among the shown characters
    for piece, last_start in zip(sought, _find_last_starts(characters, sought), strict=True):
        place = -1
        if last_start is not None:
            last_end = last_start + len(piece)
            if not is_markup:
                first_start = max(start, end - len(piece)) + 1
                place = characters.rfind(piece, first_start, min(end + len(piece), last_end))
            if place < 0:
                place = characters.find(piece, end, last_end)
        if place < 0:
            spans.append(None)
        else:
            start, end = place, place + len(piece)
            spans.append((shown.starts[start], shown.ends[end - 1]))
    return spans


def locate_json_elements(text: str, pieces: Sequence[str]) -> list[Span | None]:
    """Where the elements of a list in JSON stand, of which there is one for each piece."""
    if len(pieces) < 2:
        return [None] * len(pieces)
    spans: list[Span | None] = []
    decoder = json.JSONDecoder()
    end = text.index("[") + 1
    for _ in pieces:
        found = _JSON_ELEMENT.search(text, end)
        assert found is not None  # the parser has counted the elements
        _, end = decoder.raw_decode(text, found.start())
        spans.append((found.start(), end))
    return spans


def cover(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans, extended over what lies between them: to the end of the text, and to its start.

    Text after a span becomes part of it; text before the first, of the first.
    """
    covered: list[Span] = []
    covered_end = 0
    for start, end in spans:
        if text[covered_end:start].strip():
            if covered:
                covered[-1] = (covered[-1][0], start)
            else:
                start = 0
        covered.append((start, end))
        covered_end = max(covered_end, end)
    if text[covered_end:].strip():
        start, _ = covered.pop() if covered else (0, 0)
        covered.append((start, len(text)))
    return covered


class _ShownCharacters(NamedTuple):
    characters: str
    starts: list[int]  # of each, in the text
    ends: list[int]


def _find_shown_characters(text: str, *, is_markup: bool) -> _ShownCharacters:
    """All characters but white space, and but the markup."""
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in (_CHARACTER_OF_MARKUP if is_markup else _CHARACTER).finditer(text):
        if match.lastgroup == "markup":
            continue
        # A decoded entity may be white space, or several characters.
        for character in "".join(html.unescape(match[0]).split()) if is_markup else match[0]:
            characters.append(character)
            starts.append(match.start())
            ends.append(match.end())
    return _ShownCharacters("".join(characters), starts, ends)


def _find_last_starts(characters: str, sought: Sequence[str]) -> list[int | None]:
    """The last place of each piece that leaves all later ones a place after it."""
    last_starts: list[int | None] = []
    next_start, next_end = len(characters), len(characters) + 1
    for piece in reversed(sought):
        stop = min(next_start - 1 + len(piece), next_end - 1)
        start = characters.rfind(piece, 0, max(0, stop)) if piece else -1
        if start < 0:
            last_starts.append(None)
        else:
            last_starts.append(start)
            next_start, next_end = start, start + len(piece)
    return last_starts[::-1]
