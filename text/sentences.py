"""Find the sentences of a text, in any script.

Uses rules over code points: marks that end a sentence, and abbreviations, numbers and wrapped lines
that only seem to. Sizes are not considered here."""

import re
from collections.abc import Iterator
from itertools import takewhile
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


# These search backwards from the limit, so the first match is the last suitable place.
_LINE_END = regex.compile(r"(?r)[\n\r\v\f\x85\u2028\u2029]")
_CLAUSE_END = regex.compile(r"""(?r)[,;:.!?…)\]”»](?=\s)|[–—、，；：،؛；](?=[\s\S])""")
_WORD_GAP = regex.compile(r"(?r)[\s\x1c-\x1f]")
_GRAPHEME = regex.compile(r"\X")
# A grapheme always ends between two such characters (UAX 29, GB999), which saves a search.
_PLAIN_PAIR = regex.compile(r"\p{GCB=Other}(?!\s)\p{GCB=Other}")


def split_long_sentences(text: str, sentences: list[Sentence], limit: int) -> list[Sentence]:
    """Return the sentences, splitting those longer than ``limit`` characters."""
    parts = []
    for sentence in sentences:
        if sentence.end - sentence.start <= limit:
            parts.append(sentence)
            continue
        is_opening = sentence.is_paragraph_start
        for start, end in _split_span(text, sentence.start, sentence.end, limit):
            parts.append(Sentence(start, end, is_opening))
            is_opening = False
    return parts


def split_sentence(text: str, sentence: Sentence, limit: int) -> list[Sentence]:
    """Split a sentence; cut a grapheme longer than ``limit`` only if it is the whole sentence."""
    spans = _split_span(text, sentence.start, sentence.end, limit, keep_graphemes=True)
    return [
        Sentence(start, end, sentence.is_paragraph_start and start == sentence.start)
        for start, end in spans
    ]


def _split_span(
    text: str, start: int, end: int, limit: int, *, keep_graphemes: bool = False
) -> Iterator[tuple[int, int]]:
    """Spans of at most ``limit`` characters, cut at lines, clauses, words or graphemes.

    A grapheme longer than the limit is cut; with ``keep_graphemes`` only if the span is one
    grapheme.
    """
    max_grapheme_chars: int | None = limit
    if keep_graphemes and _find_grapheme_end(text, start, end) < end:
        max_grapheme_chars = None
    # Few parts of even length: with parts at the full limit the last might be one character.
    limit = ceil_divide(end - start, ceil_divide(end - start, limit))
    while end - start > limit:
        cut = find_split_position(text, start, end, limit, max_grapheme_chars)
        if cut >= end:
            break
        yield start, start + len(text[start:cut].rstrip())
        start = _find_non_space(text, cut)
    yield start, end


def ceil_divide(number: int, divisor: int) -> int:
    return -(-number // divisor)


def find_split_position(
    text: str, start: int, end: int, limit: int, max_grapheme_chars: int | None
) -> int:
    """Return the best end of a piece that begins at ``start``, at most ``limit`` characters away.

    Ends of lines and clauses are used only in the second half, so that pieces do not become small.
    A grapheme may exceed the limit, but not ``max_grapheme_chars``.
    """
    stop = start + limit
    middle = start + limit // 2
    if (line := _LINE_END.search(text, middle, stop + 1)) and not _has_joining_mark_after(
        text, line.start()
    ):
        return int(line.start())
    if (clause := _CLAUSE_END.search(text, middle, stop + 1)) and not _has_joining_mark_after(
        text, clause.end()
    ):
        return int(clause.end())
    if (gap := _WORD_GAP.search(text, start, stop + 1)) and not _has_joining_mark_after(
        text, gap.start()
    ):
        return int(gap.start())
    if _PLAIN_PAIR.match(text, stop - 1):
        return stop
    # One character past the limit is enough to know whether a grapheme ends at it.
    ends = list(takewhile(stop.__ge__, _iter_grapheme_ends(text, start, stop + 1)))
    if not ends:
        reach = end if max_grapheme_chars is None else min(end, start + max_grapheme_chars)
        return _find_grapheme_end(text, start, reach)
    return next((cut for cut in reversed(ends) if not _has_joining_mark_after(text, cut)), ends[-1])


def _iter_grapheme_ends(text: str, start: int, end: int) -> Iterator[int]:
    while start < end:
        start = _find_grapheme_end(text, start, end)
        yield start


def _find_grapheme_end(text: str, start: int, end: int) -> int:
    # Match in a slice, doubled until the grapheme ends inside it: in the whole text, \X would look
    # back from every flag to the start of a run of flags.
    size = 32
    while True:
        length = int(_GRAPHEME.match(text[start : min(start + size, end)]).end())
        if length < size or start + size >= end:
            return start + length
        size *= 2


def _find_non_space(text: str, position: int) -> int:
    found = NON_SPACE.search(text, position)
    return len(text) if found is None else found.start()


def _has_joining_mark_after(text: str, cut: int) -> bool:
    """Whether the text after the cut begins with a mark that belongs to the text before it."""
    return JOINING_MARK.match(text, _find_non_space(text, cut)) is not None
