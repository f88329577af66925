"""Split sentences that are too long: at lines, clauses and words, else between graphemes.

Limits are in code points. Every search stays inside the limit, so the time is linear in the text
even if it is repetitive.
"""

from collections.abc import Iterator
from itertools import takewhile

import regex  # for \X and Unicode properties, which re lacks

from indexing.chunking.sentences import JOINING_MARK, NON_SPACE, Sentence

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
    """Split one sentence; cut a grapheme longer than ``limit`` only if the sentence is one
    grapheme."""
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
