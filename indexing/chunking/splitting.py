"""Splitting a sentence that is too long: at lines, clauses and words, else between graphemes.

Limits are in code points, and every search stays inside the limit: the time taken grows with
the text alone, whatever it repeats.
"""

from collections.abc import Iterator
from itertools import takewhile

import regex  # for \X and Unicode properties, which re lacks

from indexing.chunking.sentences import JOINING, VISIBLE, Sentence

# Searched backwards from the limit: the last place that will do is the first one found.
_LINE_END = regex.compile(r"(?r)[\n\r\v\f\x85\u2028\u2029]")
_CLAUSE_END = regex.compile(r"""(?r)[,;:.!?…)\]”»](?=\s)|[–—、，；：،؛；](?=[\s\S])""")
_WORD_GAP = regex.compile(r"(?r)[\s\x1c-\x1f]")
_GRAPHEME = regex.compile(r"\X")
# Between two such characters a grapheme always ends (UAX 29, GB999): no need to walk up to it.
_PLAIN_PAIR = regex.compile(r"\p{GCB=Other}(?!\s)\p{GCB=Other}")


def split_long(text: str, sentences: list[Sentence], limit: int) -> list[Sentence]:
    """The sentences, those longer than ``limit`` characters in parts that are not."""
    parts = []
    for sentence in sentences:
        if sentence.end - sentence.start <= limit:
            parts.append(sentence)
            continue
        is_opening = sentence.is_opening
        for start, end in _split(text, sentence.start, sentence.end, limit):
            parts.append(Sentence(start, end, is_opening))
            is_opening = False
    return parts


def split_graphemes_last(text: str, sentence: Sentence, limit: int) -> list[Sentence]:
    """One sentence in parts; a grapheme longer than ``limit`` is cut if nothing else is left."""
    spans = _split(text, sentence.start, sentence.end, limit, keep_graphemes=True)
    return [
        Sentence(start, end, sentence.is_opening and start == sentence.start)
        for start, end in spans
    ]


def _split(
    text: str, start: int, end: int, limit: int, *, keep_graphemes: bool = False
) -> Iterator[tuple[int, int]]:
    """Spans of at most ``limit`` characters, cut at lines, clauses, words or graphemes.

    A grapheme longer than the limit is cut; with ``keep_graphemes`` only where it is all there is.
    """
    longest: int | None = limit
    if keep_graphemes and _end_grapheme(text, start, end) < end:
        longest = None
    # Even parts, as few as will do: at the full limit the last could be a character or two.
    limit = divide_up(end - start, divide_up(end - start, limit))
    while end - start > limit:
        cut = find_cut(text, start, end, limit, longest)
        if cut >= end:
            break
        yield start, start + len(text[start:cut].rstrip())
        start = _skip_space(text, cut)
    yield start, end


def divide_up(number: int, divisor: int) -> int:
    return -(-number // divisor)


def find_cut(text: str, start: int, end: int, limit: int, longest: int | None) -> int:
    """The best end for a piece from ``start``, which is visible and has more than ``limit`` left.

    Lines and clauses are heeded in the second half only, lest the pieces become small. A grapheme
    may exceed the limit, but not ``longest``.
    """
    stop = start + limit
    middle = start + limit // 2
    if (line := _LINE_END.search(text, middle, stop + 1)) and not _joins(text, line.start()):
        return int(line.start())
    if (clause := _CLAUSE_END.search(text, middle, stop + 1)) and not _joins(text, clause.end()):
        return int(clause.end())
    if (gap := _WORD_GAP.search(text, start, stop + 1)) and not _joins(text, gap.start()):
        return int(gap.start())
    if _PLAIN_PAIR.match(text, stop - 1):
        return stop
    # One character past the limit is enough to know whether a grapheme ends at it.
    ends = list(takewhile(stop.__ge__, _grapheme_ends(text, start, stop + 1)))
    if not ends:
        reach = end if longest is None else min(end, start + longest)
        return _end_grapheme(text, start, reach)
    return next((cut for cut in reversed(ends) if not _joins(text, cut)), ends[-1])


def _grapheme_ends(text: str, start: int, end: int) -> Iterator[int]:
    while start < end:
        start = _end_grapheme(text, start, end)
        yield start


def _end_grapheme(text: str, start: int, end: int) -> int:
    # In a slice of its own, doubled until the grapheme ends inside it: in the text \X would look
    # back at every flag to the beginning of the run of flags.
    size = 32
    while True:
        length = int(_GRAPHEME.match(text[start : min(start + size, end)]).end())
        if length < size or start + size >= end:
            return start + length
        size *= 2


def _skip_space(text: str, position: int) -> int:
    found = VISIBLE.search(text, position)
    return len(text) if found is None else found.start()


def _joins(text: str, cut: int) -> bool:
    """Whether what follows the cut is a mark or joiner that belongs to what stands before it."""
    return JOINING.match(text, _skip_space(text, cut)) is not None
