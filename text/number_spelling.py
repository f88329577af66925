"""Numbers as digits and at most one point: 1,234,567.5 and 1.234.567,5 and 1'234'567,5 and
12,34,567.5 as in India."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from text.languages import find_languages_of_stop_word

_START: Final = r"(?<!\w)(?<!\d[.,])"
# Spaces that do not break group digits, too; other spaces may separate numbers.
_HAS_SIGN: Final = re.compile(r"[0-9][.,'’\xa0\u2009\u202f][0-9]")
_GROUPED: Final = re.compile(
    rf"{_START}([1-9]\d{{0,2}})(?P<groups>(?P<sign>[.,'’\xa0\u2009\u202f])"
    r"(?:\d{3}(?:(?P=sign)\d{3})*|(?<=,)\d\d(?:,\d\d)*,\d{3}))(?P<rest>[.,]\d+)?(?![.,]?\d|[^\W\d_])"
)
_SPACED: Final = re.compile(r"(?<![\w.,] )(?<![\w.,])[1-9]\d{0,2}(?: \d{3}){2,}(?![.,]? ?\d|\w)")
# Those that are not spelt so: with a comma, or beside a unit.
_DECIMAL: Final = re.compile(rf"{_START}(\d+)(?:,(\d+)(?![.,]?\d|_)|\.(\d+)(?=[^\W\d_]+\b))")
_COMMA: Final = re.compile(r"(?<![\d,.])\d+,\d{1,2}(?![,.]?\d)")
_POINT: Final = re.compile(r"(?<![\d,.])\d+\.\d{1,2}(?![,.]?\d)")
_MAX_CHARS: Final = 2_000  # of a text, from which its language is read
# Languages that write decimals with a point; all others that are known have a comma.
_WITH_POINT: Final = frozenset({"en", "ar", "fa", "he", "hi"})


class Reading(NamedTuple):
    """What a number may be searched as, besides its digits; ``is_key``: as it is written."""

    written: str
    spelt: str
    is_key: bool


def spell_numbers(text: str, language: str, *, is_query: bool = False) -> tuple[str, list[Reading]]:
    """The text with its numbers in digits, a unit after a decimal apart. ``language``: the one that
    is expected of the text.

    1.234 and 1,234 are read as the text's language reads them. A query has too few words to tell,
    so its other reading is returned, too.
    """
    if is_query:
        text = _SPACED.sub(lambda found: found[0].replace(" ", ""), text)
    if not _HAS_SIGN.search(text):
        return text, []
    groups = _Groups(text, language, is_query=is_query)
    text = _GROUPED.sub(groups.spell, text)
    return _DECIMAL.sub(r"\1.\2\3 ", text), groups.readings


class _Groups:
    def __init__(self, text: str, language: str, *, is_query: bool) -> None:
        self._text = text
        self._language = language
        self._is_query = is_query
        self._has_comma: bool | None = None
        self.readings: list[Reading] = []

    def spell(self, found: re.Match[str]) -> str:
        written, sign, rest = found[0], found["sign"], found["rest"] or ""
        digits = re.sub(r"\D", "", found[1] + found["groups"])
        is_certain = sign not in ".," or len(found["groups"]) > 4 or rest[:1] not in {"", sign}
        if not is_certain:
            is_decimal = (sign == ",") is self._uses_comma()
            if self._is_query:
                decimal = written.replace(",", ".")
                self.readings.append(Reading(written, digits if is_decimal else decimal, False))
            if is_decimal:
                return written
        self.readings.append(Reading(written, written, True))
        return f"{digits}.{rest[1:]}" if rest else digits

    def _uses_comma(self) -> bool:
        if self._has_comma is None:
            self._has_comma = uses_decimal_comma(self._text, self._language)
        return self._has_comma


def uses_decimal_comma(text: str, language: str) -> bool:
    """Whether a text writes 1,5 rather than 1.5: by its other numbers, else by its language."""
    commas, points = len(_COMMA.findall(text)), len(_POINT.findall(text))
    if commas != points:
        return commas > points
    hits = Counter(_list_languages(text))
    with_point = max(hits[name] for name in _WITH_POINT)
    with_comma = max((hits[name] for name in hits if name not in _WITH_POINT), default=0)
    if with_comma == with_point:
        return language not in _WITH_POINT
    return with_comma > with_point


def _list_languages(text: str) -> Iterator[str]:
    for word in re.findall(r"[^\W\d_]+", text[:_MAX_CHARS].lower()):
        yield from find_languages_of_stop_word(word)
