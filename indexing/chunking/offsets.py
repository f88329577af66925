"""Find the offsets of pieces of a text, given their order.

In repeated text a piece has several occurrences, and the first is often not the right one. Offsets
are code points.
"""

import html
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

Span = tuple[int, int]

_CHARACTER = re.compile(r"\S")
_CHARACTER_OF_MARKUP = re.compile(
    r"(?P<markup> <!--.*?(?:-->|\Z) | </?[a-z!][^<>]*> ) | &(?:\#\w{1,8}|\w{1,32}); | \S",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_JSON_ELEMENT = re.compile(r"[^\s,]")


def locate(text: str, pieces: Sequence[str], *, is_markup: bool = False) -> list[Span | None]:
    """The span of each piece in the text, ignoring white space; None if it is not in the text.

    Each piece begins and ends after the piece before it, and leaves a place for all later pieces.
    Of several such places, the last that overlaps or directly follows the piece before it is
    chosen; if there is none, the first after that piece.

    Args:
        is_markup: the text is HTML, and the pieces are its visible text and do not overlap.
    """
    shown = _find_shown_characters(text, is_markup=is_markup)
    characters = shown.characters
    stripped_pieces = ["".join(piece.split()) for piece in pieces]
    spans: list[Span | None] = []
    start, end = -1, 0  # of the piece before, among the shown characters
    for piece, last_start in zip(
        stripped_pieces, _find_last_starts(characters, stripped_pieces), strict=True
    ):
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
    """The spans of the elements of a JSON list; there is one element for each piece."""
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
    """The spans, extended to cover all text between, before and after them.

    Text after a span becomes part of it; text before the first span becomes part of the first.
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
    """All characters except white space and markup."""
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


def _find_last_starts(characters: str, pieces: Sequence[str]) -> list[int | None]:
    """The last start of each piece that leaves a place for all later pieces."""
    last_starts: list[int | None] = []
    next_start, next_end = len(characters), len(characters) + 1
    for piece in reversed(pieces):
        stop = min(next_start - 1 + len(piece), next_end - 1)
        start = characters.rfind(piece, 0, max(0, stop)) if piece else -1
        if start < 0:
            last_starts.append(None)
        else:
            last_starts.append(start)
            next_start, next_end = start, start + len(piece)
    return last_starts[::-1]
