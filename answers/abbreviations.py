"""Finds abbreviations that a text defines: "neural machine translation (NMT)" and the reverse.

Source:
    Schwartz and Hearst, "A Simple Algorithm for Identifying Abbreviation Definitions in Biomedical
    Text", 2003.
"""

from collections.abc import Iterator
from typing import NamedTuple

import regex  # for Unicode properties, which re lacks

from text.words import split_words

_SHORT_FORM = r"[\p{L}\p{N}](?:[\p{L}\p{N}]|[-.&/](?=[\p{L}\p{N}])){1,9}+"
_AFTER_LONG_FORM = regex.compile(rf"\((?P<short>{_SHORT_FORM})(?:[,;][^()]{{0,100}})?\)")
_BEFORE_LONG_FORM = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}])(?P<short>{_SHORT_FORM})\s?\((?P<long>[^()]{{5,100}})\)"
)
_MAX_LONG_CHARS = 120
_SENTENCE_END = regex.compile(r"[.;:!?()]\s")


class Definition(NamedTuple):
    short: str
    long: str


def find_definitions(text: str) -> Iterator[Definition]:
    """A plural, such as CNNs, is found as its singular."""
    for found in _AFTER_LONG_FORM.finditer(text):
        if short := _read_short_form(found["short"]):
            before = text[max(0, found.start() - _MAX_LONG_CHARS) : found.start()]
            before = _SENTENCE_END.split(before)[-1]
            words = split_words(before)[-min(len(short) + 5, 2 * len(short)) :]
            if words and (long := _find_long_form(short, before[words[0].start :].rstrip())):
                yield Definition(short, long)
    for found in _BEFORE_LONG_FORM.finditer(text):
        long = found["long"].strip()
        short = _read_short_form(found["short"])
        if short and _find_long_form(short, long) == long:
            yield Definition(short, long)


def _read_short_form(text: str) -> str:
    """The abbreviation in the singular; empty if it has fewer than two capital letters."""
    short = text[:-1] if text.endswith("s") else text
    return short if sum(letter.isupper() for letter in short) > 1 else ""


def _find_long_form(short: str, text: str) -> str:
    """The shortest end of the text that has the letters of ``short`` in their order, the first of
    them at the beginning of a word; empty if there is none, or only one word."""
    place = len(text)
    letters = [letter for letter in short.lower() if letter.isalnum()]
    for number, letter in reversed(list(enumerate(letters))):
        place -= 1
        while place >= 0 and (
            text[place].lower() != letter
            or (number == 0 and place > 0 and text[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:].strip()
    return long if len(split_words(long)) > 1 else ""
