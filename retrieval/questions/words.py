"""The words of a question, each with its place, and folded so that spellings compare."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex  # for Unicode properties, which re lacks

MASK = "\ufffc"  # stands for text that is not to be read: no letter, no space
TAKEN = "\ufffb"  # likewise: it was read already
Span = tuple[int, int]

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LETTERS = str.maketrans(  # those that no decomposition takes apart
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
        """Two capital letters or more, as in ACL and SemEval."""
        return sum(letter.isupper() for letter in self.text) > 1


def fold(text: str) -> str:
    """Without case and accents: ``Schütze`` and ``SCHUTZE`` are one."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return bare.casefold().translate(_LETTERS)


def split_words(text: str) -> list[Word]:
    """Letters and digits; whatever else stands between words parts them."""
    return [
        Word(found[0], found.start(), found.end(), fold(found[0])) for found in _WORD.finditer(text)
    ]


def fold_words(text: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in _WORD.findall(text))


def is_title(words: Sequence[Word]) -> bool:
    """Whether they are written as a title: Most of Them With Capitals."""
    lettered = [word for word in words if word.text[0].isalpha()]
    capitals = sum(word.is_capitalised for word in lettered)
    return len(lettered) > 4 and 5 * capitals >= 3 * len(lettered)


def mask(text: str, spans: Iterable[Span], by: str = MASK) -> str:
    """The text with these spans unreadable, and every other character where it was."""
    for start, end in spans:
        text = text[:start] + by * (end - start) + text[end:]
    return text


def word_set(words: str) -> frozenset[str]:
    """A set of words, written with spaces between them."""
    return frozenset(words.split())


MONTHS = word_set(
    "january february march april may june july august september october november december"
)
