"""Split text into words with offsets, and fold spellings so that they can be compared."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex  # for Unicode properties, which re lacks

from core.text import normalise

MASK_CHAR = "\ufffc"  # replaces text that must not be parsed; neither a letter nor a space
PARSED_CHAR = "\ufffb"  # replaces text that was parsed already
Span = tuple[int, int]

# A raised number after another one is a word of its own, so that 10⁶ is not 106.
_PLAIN = r"[\p{L}\p{M}\p{Nd}\p{Nl}]"
_WORD = regex.compile(rf"{_PLAIN}+(?:(?<!\p{{Nd}})\p{{No}}+{_PLAIN}*)*|\p{{No}}+")
_LETTER_FOLDING = str.maketrans(  # letters without a Unicode decomposition
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)


class Word(NamedTuple):
    text: str
    start: int
    end: int
    folded: str

    @property
    def is_capitalised(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_acronym(self) -> bool:
        """Whether it has two capital letters or more, such as ACL and SemEval."""
        return sum(letter.isupper() for letter in self.text) > 1


def fold_spelling(text: str) -> str:
    """Remove case and accents: ``Schütze`` and ``SCHUTZE`` become equal."""
    if text.isascii():
        return text.lower()
    decomposed = normalise(text, "NFKD")
    without_accents = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return without_accents.casefold().translate(_LETTER_FOLDING)


def split_words(text: str) -> list[Word]:
    """Split into runs of letters and digits, with their offsets."""
    return [
        Word(found[0], found.start(), found.end(), fold_spelling(found[0]))
        for found in _WORD.finditer(text)
    ]


def fold_words(text: str) -> tuple[str, ...]:
    return tuple(fold_spelling(word) for word in _WORD.findall(text))


def is_title_case(words: Sequence[Word]) -> bool:
    """Whether the words are in title case: more than four, of which 60% begin with a capital."""
    lettered = [word for word in words if word.text[0].isalpha()]
    capitals = sum(word.is_capitalised for word in lettered)
    return len(lettered) > 4 and 5 * capitals >= 3 * len(lettered)


def mask_spans(text: str, spans: Iterable[Span], char: str = MASK_CHAR) -> str:
    """Overwrite these spans with a mask character; offsets stay the same."""
    for start, end in spans:
        text = text[:start] + char * (end - start) + text[end:]
    return text


def split_word_set(words: str) -> frozenset[str]:
    """Split a space-separated string into a set of words."""
    return frozenset(words.split())
