"""The sentences of a text that can be quoted, each with its place.

What a sentence is, ``indexing.chunking`` decides; here stands which of them say something.
"""

from dataclasses import dataclass

import regex  # for scripts and Unicode properties, which re lacks

from indexing.chunking.sentences import find_sentences
from indexing.chunking.splitting import find_cut

MAX_CHARS = 400  # of one sentence; a text without stops is one sentence
MIN_WORDS = 4  # below, it is a label, a page number or the cell of a table

# Scripts that put no space between words.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"

_WORD = regex.compile(rf"[[\p{{L}}]--[{UNSPACED}]][\p{{L}}\p{{M}}\p{{N}}'’-]*+", regex.VERSION1)
_UNSPACED_LETTER = regex.compile(rf"[[\p{{L}}]&&[{UNSPACED}]]", regex.VERSION1)
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_VISIBLE = regex.compile(r"\S")
_HEADING = regex.compile(r"#{1,6}\s")
_MARKER = regex.compile(r"(?:[-*+•‣◦–—·●▪>]|\(?\d{1,3}[.)])\s++(?=\S)")


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence and where it stands, in code points of the text it was taken from."""

    text: str
    start: int
    end: int


def quotable_sentences(text: str) -> list[CitedSentence]:
    """In reading order, markers of lists left out, each cut to ``MAX_CHARS`` at a clause or word.

    Headings and fragments stand among them only where a text holds nothing else.
    """
    sentences = []
    for found in find_sentences(text):
        marker = _MARKER.match(text, found.start, found.end)
        start = marker.end() if marker else found.start
        end = clip_end(text, start, found.end, MAX_CHARS)
        sentences.append(CitedSentence(text[start:end], start, end))
    return [each for each in sentences if not is_fragment(each.text)] or sentences


def is_fragment(sentence: str) -> bool:
    """Whether it is a heading, the row of a table, mostly digits, or too few words to say much."""
    if _HEADING.match(sentence) or sentence.count("|") > 1:
        return True
    if count_words(sentence) < MIN_WORDS:
        return True
    return 2 * len(_LETTER.findall(sentence)) < len(_VISIBLE.findall(sentence))


def count_words(text: str) -> int:
    """Words; where no spaces part them, two letters are taken for one."""
    return len(_WORD.findall(text)) + len(_UNSPACED_LETTER.findall(text)) // 2


def clip_end(text: str, start: int, end: int, limit: int) -> int:
    """Where ``text[start:end]`` is to end so that at most ``limit`` characters are left of it."""
    if end - start <= limit:
        return end
    cut = find_cut(text, start, end, limit, limit)
    return start + len(text[start:cut].rstrip())
