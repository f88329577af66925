"""Find the sentences of a text that are worth quoting, with their offsets.

``text.sentences`` splits the text into sentences; this module drops headings and fragments.
"""

from dataclasses import dataclass

import regex  # for scripts and Unicode properties, which re lacks

from text.sentences import find_sentences, find_split_position

MAX_SENTENCE_CHARS = 400  # of one sentence; a text without full stops is one sentence
MIN_SENTENCE_WORDS = 4  # shorter texts are labels, page numbers or table cells

# Scripts without spaces between words.
UNSPACED_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"

_WORD = regex.compile(
    rf"[[\p{{L}}]--[{UNSPACED_SCRIPTS}]][\p{{L}}\p{{M}}\p{{N}}'’-]*+", regex.VERSION1
)
_UNSPACED_LETTER = regex.compile(rf"[[\p{{L}}]&&[{UNSPACED_SCRIPTS}]]", regex.VERSION1)
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_VISIBLE = regex.compile(r"\S")
_HEADING = regex.compile(r"#{1,6}\s")
_LIST_MARKER = regex.compile(r"(?:[-*+•‣◦–—·●▪>]|\(?\d{1,3}[.)])\s++(?=\S)")


@dataclass(frozen=True, slots=True)
class LocatedSentence:
    """A sentence and its offsets, in code points, in the text it was taken from."""

    text: str
    start: int
    end: int


def find_quotable_sentences(text: str) -> list[LocatedSentence]:
    """Return the sentences in reading order, without list markers, each truncated at a clause or
    word to fit the limit.

    Headings and fragments are returned only if the text holds nothing else.
    """
    sentences = []
    for found in find_sentences(text):
        marker = _LIST_MARKER.match(text, found.start, found.end)
        start = marker.end() if marker else found.start
        end = find_truncation_end(text, start, found.end, MAX_SENTENCE_CHARS)
        sentences.append(LocatedSentence(text[start:end], start, end))
    return [each for each in sentences if not is_fragment(each.text)] or sentences


def is_fragment(sentence: str) -> bool:
    """Whether it is a heading, a table row, mostly digits, or too short."""
    if _HEADING.match(sentence) or sentence.count("|") > 1:
        return True
    if estimate_word_count(sentence) < MIN_SENTENCE_WORDS:
        return True
    return 2 * len(_LETTER.findall(sentence)) < len(_VISIBLE.findall(sentence))


def estimate_word_count(text: str) -> int:
    """Count words; in scripts without spaces, every two letters count as one word."""
    return len(_WORD.findall(text)) + len(_UNSPACED_LETTER.findall(text)) // 2


def find_truncation_end(text: str, start: int, end: int, limit: int) -> int:
    """Return where ``text[start:end]`` must end to have at most ``limit`` characters."""
    if end - start <= limit:
        return end
    cut = find_split_position(text, start, end, limit, limit)
    return start + len(text[start:cut].rstrip())
