"""Find the sentences of a text, in any script.

Uses rules over code points: marks that end a sentence, and abbreviations, numbers and wrapped lines
that only seem to. Sizes are not considered here.
"""

import re
from typing import NamedTuple

import regex  # for \X and Unicode properties, which re lacks


class Sentence(NamedTuple):
    """The position of a sentence in its text, in code points."""

    start: int
    end: int
    is_paragraph_start: bool  # the first of a paragraph that does not follow a heading


# The first character decides each alternative, and none backtracks, so a pass is linear on runs of
# dots, spaces or newlines.
_CLOSERS = r"""["'”’»›)\]}」』】》〉）］｝]*+(?:\[\d{1,3}\])*+"""
_BREAK_CANDIDATE = regex.compile(
    rf"""
      (?P<line> [\n\r\v\f\x85\u2028\u2029]\s*+ )
    | (?P<stop> [.!?…‼‽⁇⁈⁉]++ {_CLOSERS} )            # ends a sentence before white space only
    | (?P<mark> [[\p{{STerm}}]--[.!?‼‽⁇⁈⁉]]++ {_CLOSERS} )     # 。 । ؟ ։ ។: ends one anywhere
    | (?P<phrase> (?<=[\p{{Thai}}\p{{Lao}}])[ \t\u00a0]++(?=[\p{{Thai}}\p{{Lao}}]) )
    """,
    regex.VERSION1 | regex.VERBOSE,
)
NON_SPACE = re.compile(r"\S")  # re, not regex: its white space equals that of str.strip
_LAST_NON_SPACE = regex.compile(r"(?r)[^\s\x1c-\x1f]")
JOINING_MARK = regex.compile(r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]")
_HEADING = regex.compile(r"#{1,6}[ \t]")
_LIST_MARKER = regex.compile(r"(?:[-*+•‣◦–—·●▪]|\(?(?:\d{1,3}|\p{L})[.)])\s")
# "p53", "mTOR" and "miR-21" may begin a sentence; other lower-case words do not.
_CONTINUATION = regex.compile(r"\p{Ll}(?!\p{Ll}{0,3}-?[\p{Lu}\p{N}])")
_DOTTED_ABBREVIATION = regex.compile(r"\p{Lu}|(?:\p{L}{1,3}\.)+\p{L}{1,3}")  # J, U.S, Ph.D, z.B
_WORD = regex.compile(r"\p{L}++")

_ABBREVIATIONS = frozenset({
    "dr", "mr", "mrs", "ms", "prof", "st", "mt", "rev", "gen", "col", "lt", "sgt", "capt",
    "hon", "pres", "gov", "sen", "rep", "messrs", "mme", "mlle", "hr", "fr", "sra", "fig",
    "figs", "eq", "eqs", "ref", "refs", "tab", "suppl", "al", "cf", "viz", "vs", "ca",
    "approx", "resp", "incl", "esp", "e.g", "i.e", "d.h", "z.b", "u.a", "bzw", "abb", "nr",
    "núm", "pág", "sp", "spp", "subsp", "var",
})  # fmt: skip
_ABBREVIATIONS_BEFORE_NUMBERS = frozenset({
    "no", "nos", "p", "pp", "vol", "vols", "sec", "ch", "chap", "art", "par", "ed", "eds",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})  # fmt: skip
# After a single letter these words begin a sentence: "hepatitis C. We", not "J. Smith".
_SENTENCE_STARTERS = frozenset({
    "the", "this", "that", "these", "those", "a", "an", "we", "i", "it", "he", "she", "they",
    "in", "on", "at", "by", "for", "from", "with", "our", "here", "there", "however", "thus",
    "therefore", "although", "while", "when", "if", "as", "to", "but", "and", "moreover",
    "furthermore",
})  # fmt: skip


def find_sentences(text: str) -> list[Sentence]:
    """Sentences without surrounding white space; each list entry or heading is a sentence."""
    sentences: list[Sentence] = []
    found = NON_SPACE.search(text)
    if found is None:
        return sentences
    start = found.start()
    is_opening, is_heading = True, _HEADING.match(text, start) is not None
    for mark in _BREAK_CANDIDATE.finditer(text, start):
        found = NON_SPACE.search(text, mark.end())
        if found is None:
            break
        following = found.start()
        if mark.start() < start or not _is_sentence_end(text, start, mark, following, is_heading):
            continue
        end = mark.start() if mark.lastgroup == "line" else mark.end()
        end = start + len(text[start:end].rstrip())
        sentences.append(Sentence(start, end, is_opening))
        follows_heading = is_heading
        is_heading = mark.lastgroup == "line" and _HEADING.match(text, following) is not None
        # A heading starts a paragraph and its text does not, so that they stay together.
        is_opening = not follows_heading and (
            is_heading or _is_blank_line(text[mark.start() : following])
        )
        start = following
    sentences.append(Sentence(start, len(text.rstrip()), is_opening))
    return sentences


def _is_sentence_end(
    text: str, start: int, mark: "regex.Match[str]", following: int, is_heading: bool
) -> bool:
    if JOINING_MARK.match(text, following):
        return False
    match mark.lastgroup:
        case "line":
            if is_heading or _is_blank_line(text[mark.start() : following]):
                return True
            if _HEADING.match(text, following) or _LIST_MARKER.match(text, following):
                return True
            # A next line in lower case continues the sentence, as wrapped lines of a PDF do.
            if _CONTINUATION.match(text, following):
                return False
            last = _LAST_NON_SPACE.search(text, start, mark.start())
            assert last is not None  # a sentence begins with one
            dot = last.start()
            return text[dot] != "." or not _is_abbreviation(text, start, dot, following)
        case "stop":
            gap = text[mark.end() : following]
            if not gap or "\n" in gap or "\r" in gap:  # the line break is examined next
                return False
            if _CONTINUATION.match(text, following):
                return False
            return text[mark.start() : mark.end()].rstrip(
                "\"'”’»)]"
            ) != "." or not _is_abbreviation(text, start, mark.start(), following)
        case "mark":
            return not (text[mark.start()] == "．" and text[following].isdigit())
        case _:
            return True


def _is_blank_line(gap: str) -> bool:
    return max(gap.count("\n"), gap.count("\r")) > 1 or "\f" in gap or "\u2029" in gap


def _is_abbreviation(text: str, start: int, dot: int, following: int) -> bool:
    """Whether the full stop at ``dot`` belongs to its word, in a sentence begun at ``start``."""
    before = text[max(start, dot - 16) : dot]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1].lstrip("([{\"'“‘«")
    if dot - len(word) == start and (
        (word.isdecimal() and len(word) <= 3) or (word.isalpha() and len(word) == 1)
    ):
        return True  # the number of a list entry
    folded = word.lower()
    if folded in _ABBREVIATIONS:
        return True
    if folded in _ABBREVIATIONS_BEFORE_NUMBERS and text[following].isdigit():
        return True
    if _DOTTED_ABBREVIATION.fullmatch(word):
        next_word = _WORD.match(text, following, following + 12)
        return next_word is None or next_word[0].lower() not in _SENTENCE_STARTERS
    return False
