"""How a source is cut into chunks: into sentences, packed to a size, fitted to the model's window.

Pure functions over text. Tokens are counted and sentences embedded by functions the caller hands
in; no model, store or table is known here. Offsets are code points and are carried along while
cutting, never searched for afterwards: in repeated text a search finds the wrong place.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import regex  # for \X and Unicode properties, which re lacks
from numpy.typing import NDArray

from indexing.spec import ParagraphStrategy, SemanticStrategy, SentenceStrategy, Strategy

CountTokens = Callable[[Sequence[str]], list[int]]
Embed = Callable[[Sequence[str]], NDArray[Any]]

# Shares of the limit (max_chars, or what the window leaves), chosen by reasoning: see _sections.
SECTION_SHARE = 0.5  # a section at least this long ends at the next paragraph break
TOPIC_SHARE = 0.2  # a topic shorter than this is not cut off
OPENING_SHARE = 0.25  # a chunk this long would rather end at a paragraph than run full
TAIL_SHARE = 0.2  # a last chunk shorter than this is levelled with the one before


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of its source: ``text == source[start:end]``, in code points.

    ``token_count`` is that of ``embedded_text(context, text)``, special tokens included.
    """

    index: int
    start: int
    end: int
    text: str
    token_count: int


class _Sentence(NamedTuple):
    start: int
    end: int
    is_opening: bool  # the first of a paragraph; not of one that stands under a heading


def cut_chunks(
    text: str,
    strategy: Strategy,
    *,
    context: str,
    window: int,
    count_tokens: CountTokens,
    embed: Embed | None = None,
) -> list[Chunk]:
    """Cut a source into chunks, none of which exceeds ``window`` tokens with its context.

    Together the chunks hold every character that is not white space, in order and once each;
    they begin and end at such characters. They depend on the arguments alone.

    Args:
        context: what is embedded in front of every chunk. Too long, it counts as
            ``fit_context`` shortens it: embed with that.
        count_tokens: tokens of each text as the model would see it, special tokens and document
            prefix included, not truncated. Called once where all chunks fit, and twice more for
            each round of splitting.
        embed: one vector for each text; only the semantic strategy asks, once.

    Raises:
        ValueError: the semantic strategy has no ``embed``, or a single character exceeds the
            window.
    """
    sentences = _find_sentences(text)
    if not sentences:
        return []
    match strategy:
        case SentenceStrategy():
            pieces = _pack_sentences(text, sentences, strategy.max_chars)
        case SemanticStrategy():
            if embed is None:
                raise ValueError("the semantic strategy needs embed")
            pieces = _pack_topics(text, sentences, strategy, embed)
        case ParagraphStrategy():
            pieces = [sentences]
    return _fit_window(text, pieces, context.strip(), window, count_tokens)


def embedded_text(context: str, text: str) -> str:
    """What is embedded and tokenised for a chunk: its context, a newline, its text.

    The text stands alone where there is no context, or where it begins with it already.
    """
    follower = text[len(context) : len(context) + 1]
    if not context or (text.startswith(context) and not follower.isalnum()):
        return text
    return f"{context}\n{text}"


def fit_context(context: str, window: int, count_tokens: CountTokens) -> str:
    """The context without outer white space, shortened to at most half of ``window`` tokens.

    A chunk must have room beside it. The cut falls after a clause or word where there is one.
    A fitted context comes back as it is.
    """
    context = context.strip()
    if not context:
        return ""
    [count] = count_tokens([f"{context}\n"])
    if count <= window // 2:
        return context
    return _shorten(context, count, window // 2, count_tokens)


def _shorten(context: str, count: int, room: int, count_tokens: CountTokens) -> str:
    # A ladder of lengths in one call, instead of a bisection in many. It starts above the length
    # that the average token suggests, because the beginning may be lighter than the rest.
    length = min(len(context) - 1, len(context) * room * 3 // (count * 2) + 1)
    rungs = []
    while length:
        cut = _find_cut(context, 0, len(context), length, length)
        rungs.append(context[:cut].rstrip())
        length = length * 9 // 10
    counts = count_tokens([f"{rung}\n" for rung in rungs])
    fitting = (rung for rung, size in zip(rungs, counts, strict=True) if size <= room)
    return next(fitting, "")


# --- Sentences ------------------------------------------------------------------------------

# Each alternative starts at a character that settles it and never gives back what it took, so
# that one pass stays linear on runs of dots, spaces or newlines.
_CLOSERS = r"""["'”’»›)\]}」』】》〉）］｝]*+(?:\[\d{1,3}\])*+"""
_BREAK = regex.compile(
    rf"""
      (?P<line> [\n\r\v\f\x85\u2028\u2029]\s*+ )
    | (?P<stop> [.!?…‼‽⁇⁈⁉]++ {_CLOSERS} )            # ends a sentence before white space only
    | (?P<mark> [[\p{{STerm}}]--[.!?‼‽⁇⁈⁉]]++ {_CLOSERS} )     # 。 । ؟ ։ ។: ends one anywhere
    | (?P<phrase> (?<=[\p{{Thai}}\p{{Lao}}])[ \t\u00a0]++(?=[\p{{Thai}}\p{{Lao}}]) )
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_VISIBLE = re.compile(r"\S")  # re, not regex: its white space is that of str.strip
_JOINING = regex.compile(r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]")
_HEADING = regex.compile(r"#{1,6}[ \t]")
_LIST_ENTRY = regex.compile(r"(?:[-*+•‣◦–—·●▪]|\(?(?:\d{1,3}|\p{L})[.)])\s")
# "p53", "mTOR" and "miR-21" may begin a sentence, other words in small letters do not.
_CONTINUATION = regex.compile(r"\p{Ll}(?!\p{Ll}{0,3}-?[\p{Lu}\p{N}])")
_DOTTED = regex.compile(r"\p{Lu}|(?:\p{L}{1,3}\.)+\p{L}{1,3}")  # J, U.S, Ph.D, z.B
_WORD = regex.compile(r"\p{L}++")

_ABBREVIATIONS = frozenset({
    "dr", "mr", "mrs", "ms", "prof", "st", "mt", "rev", "gen", "col", "lt", "sgt", "capt",
    "hon", "pres", "gov", "sen", "rep", "messrs", "mme", "mlle", "hr", "fr", "sra", "fig",
    "figs", "eq", "eqs", "ref", "refs", "tab", "suppl", "al", "cf", "viz", "vs", "ca",
    "approx", "resp", "incl", "esp", "e.g", "i.e", "d.h", "z.b", "u.a", "bzw", "abb", "nr",
    "núm", "pág", "sp", "spp", "subsp", "var",
})  # fmt: skip
_BEFORE_NUMBERS = frozenset({
    "no", "nos", "p", "pp", "vol", "vols", "sec", "ch", "chap", "art", "par", "ed", "eds",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})  # fmt: skip
# After an initial these mean that a sentence has begun: "hepatitis C. We", not "J. Smith".
_BEGINNERS = frozenset({
    "the", "this", "that", "these", "those", "a", "an", "we", "i", "it", "he", "she", "they",
    "in", "on", "at", "by", "for", "from", "with", "our", "here", "there", "however", "thus",
    "therefore", "although", "while", "when", "if", "as", "to", "but", "and", "moreover",
    "furthermore",
})  # fmt: skip


def _find_sentences(text: str) -> list[_Sentence]:
    """Sentences without the white space around them; lines of lists and headings count as one."""
    sentences: list[_Sentence] = []
    found = _VISIBLE.search(text)
    if found is None:
        return sentences
    start = found.start()
    is_opening, is_heading = True, _HEADING.match(text, start) is not None
    for mark in _BREAK.finditer(text, start):
        found = _VISIBLE.search(text, mark.end())
        if found is None:
            break
        following = found.start()
        if mark.start() < start or not _is_break(text, start, mark, following, is_heading):
            continue
        end = mark.start() if mark.lastgroup == "line" else mark.end()
        end = start + len(text[start:end].rstrip())
        sentences.append(_Sentence(start, end, is_opening))
        follows_heading = is_heading
        is_heading = mark.lastgroup == "line" and _HEADING.match(text, following) is not None
        # A heading opens a paragraph and what follows it does not: it stays with its text.
        is_opening = not follows_heading and (
            is_heading or _is_blank_line(text[mark.start() : following])
        )
        start = following
    sentences.append(_Sentence(start, len(text.rstrip()), is_opening))
    return sentences


def _is_break(
    text: str, start: int, mark: "regex.Match[str]", following: int, is_heading: bool
) -> bool:
    if _JOINING.match(text, following):
        return False
    match mark.lastgroup:
        case "line":
            if is_heading or _is_blank_line(text[mark.start() : following]):
                return True
            if _HEADING.match(text, following) or _LIST_ENTRY.match(text, following):
                return True
            # A line that goes on in small letters was only wrapped, as lines of a PDF are.
            if _CONTINUATION.match(text, following):
                return False
            last = start + len(text[start : mark.start()].rstrip()) - 1
            return text[last] != "." or not _is_abbreviation(text, start, last, following)
        case "stop":
            gap = text[mark.end() : following]
            if not gap or "\n" in gap or "\r" in gap:  # the line's own turn comes next
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
    if folded in _BEFORE_NUMBERS:
        return text[following].isdigit()
    if _DOTTED.fullmatch(word):
        next_word = _WORD.match(text, following, following + 12)
        return next_word is None or next_word[0].lower() not in _BEGINNERS
    return False


# --- Splitting what is too long -------------------------------------------------------------

# Searched backwards from the limit: the last place that will do is the first one found.
_LINE_END = regex.compile(r"(?r)[\n\r\v\f\x85\u2028\u2029]")
_CLAUSE_END = regex.compile(r"""(?r)[,;:.!?…)\]”»](?=\s)|[–—、，；：،؛；](?=[\s\S])""")
_WORD_GAP = regex.compile(r"(?r)[\s\x1c-\x1f]")
_GRAPHEME = regex.compile(r"\X")
# Between two such characters a grapheme always ends (UAX 29, GB999): no need to walk up to it.
_PLAIN_PAIR = regex.compile(r"\p{GCB=Other}(?!\s)\p{GCB=Other}")


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
    limit = _divide_up(end - start, _divide_up(end - start, limit))
    while end - start > limit:
        cut = _find_cut(text, start, end, limit, longest)
        if cut >= end:
            break
        yield start, start + len(text[start:cut].rstrip())
        start = _skip_space(text, cut)
    yield start, end


def _divide_up(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _find_cut(text: str, start: int, end: int, limit: int, longest: int | None) -> int:
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
    # One character past the limit is enough to know whether a grapheme ends at it. Searched in a
    # slice: at every flag \X would look back to the beginning of the run of flags.
    graphemes = _GRAPHEME.finditer(text[start : stop + 1])
    ends = [past for grapheme in graphemes if (past := start + grapheme.end()) <= stop]
    if not ends:
        reach = end if longest is None else min(end, start + longest)
        return _end_grapheme(text, start, reach)
    return next((cut for cut in reversed(ends) if not _joins(text, cut)), ends[-1])


def _end_grapheme(text: str, start: int, end: int) -> int:
    size = 32  # doubled until the grapheme ends inside the slice
    while True:
        length = int(_GRAPHEME.match(text[start : min(start + size, end)]).end())
        if length < size or start + size >= end:
            return start + length
        size *= 2


def _skip_space(text: str, position: int) -> int:
    found = _VISIBLE.search(text, position)
    return len(text) if found is None else found.start()


def _joins(text: str, cut: int) -> bool:
    """Whether what follows the cut is a mark or joiner that belongs to what stands before it."""
    return _JOINING.match(text, _skip_space(text, cut)) is not None


# --- Packing --------------------------------------------------------------------------------


class _Extent(NamedTuple):
    """Where each sentence begins and ends, in characters or in tokens."""

    heads: Sequence[int]
    tails: Sequence[int]

    def between(self, first: int, last: int) -> int:
        """The size of sentences ``first`` to ``last``, the latter excluded."""
        return self.tails[last - 1] - self.heads[first]


Run = tuple[int, int]  # sentences from the first to before the last


def _pack_sentences(text: str, sentences: list[_Sentence], limit: int) -> list[list[_Sentence]]:
    sentences = _split_long(text, sentences, limit)
    openings = [sentence.is_opening for sentence in sentences]
    extent = _in_characters(sentences)
    return [
        sentences[first:last]
        for section in _sections(extent, openings, limit * SECTION_SHARE, limit)
        for first, last in _fill(extent, openings, section, limit)
    ]


def _pack_topics(
    text: str, sentences: list[_Sentence], strategy: SemanticStrategy, embed: Embed
) -> list[list[_Sentence]]:
    """Cut where neighbouring sentences differ more than most neighbours of this source do.

    Each sentence is embedded together with the one before and the one after it; a topic ends
    where the cosine distance to the next such window is above the percentile of all distances.
    An edit can move the percentile, and with it cuts elsewhere in the source.

    Source:
        Kamradt, "5 Levels of Text Splitting" (2024), level 4: percentile breakpoints over
        windows of one neighbour on either side.
    """
    limit = strategy.max_chars
    sentences = _split_long(text, sentences, limit)
    turns = _find_turns(text, sentences, strategy.breakpoint_percentile, embed)
    openings = [sentence.is_opening for sentence in sentences]
    extent = _in_characters(sentences)
    return [
        sentences[first:last]
        for section in _sections(extent, turns, limit * TOPIC_SHARE, limit)
        for first, last in _fill(extent, openings, section, limit)
    ]


def _find_turns(text: str, sentences: list[_Sentence], percentile: int, embed: Embed) -> list[bool]:
    """For each sentence, whether the meaning turns before it."""
    turns = [False] * len(sentences)
    if len(sentences) < 2:
        return turns
    befores = [sentences[0], *sentences[:-1]]
    afters = [*sentences[1:], sentences[-1]]
    windows = [
        text[before.start : after.end] for before, after in zip(befores, afters, strict=True)
    ]
    vectors = np.asarray(embed(windows), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    distances = 1 - np.sum(vectors[:-1] * vectors[1:], axis=1)
    threshold = np.percentile(distances, percentile) + 1e-9  # equal but for rounding is equal
    for turn in np.flatnonzero(distances > threshold):
        turns[int(turn) + 1] = True
    return turns


def _split_long(text: str, sentences: list[_Sentence], limit: int) -> list[_Sentence]:
    parts = []
    for sentence in sentences:
        if sentence.end - sentence.start <= limit:
            parts.append(sentence)
            continue
        is_opening = sentence.is_opening
        for start, end in _split(text, sentence.start, sentence.end, limit):
            parts.append(_Sentence(start, end, is_opening))
            is_opening = False
    return parts


def _in_characters(sentences: list[_Sentence]) -> _Extent:
    return _Extent(
        [sentence.start for sentence in sentences], [sentence.end for sentence in sentences]
    )


def _sections(extent: _Extent, openings: Sequence[bool], least: float, limit: int) -> list[Run]:
    """Runs that are packed each for itself, ended by the first opening after ``least``.

    Packing greedily over a whole source lets one edit move every later chunk, and each moved
    chunk is embedded again. Here every paragraph of at least ``least`` ends its section whatever
    came before it, so an edit reaches no further; slides and lists, whose paragraphs are
    shorter, still share chunks instead of making a crowd of tiny ones. Within a long paragraph
    two greedy packings fall into step again after a few sentences.
    """
    count = len(extent.heads)
    runs: list[Run] = []
    first = 0
    for opening in range(1, count):
        if openings[opening] and extent.between(first, opening) >= least:
            runs.append((first, opening))
            first = opening
    if runs and extent.between(first, count) < limit * TAIL_SHARE:
        first, _ = runs.pop()
    runs.append((first, count))
    return runs


def _fill(
    extent: _Extent,
    openings: Sequence[bool],
    section: Run,
    limit: int,
    *,
    heed_openings: bool = True,
) -> list[Run]:
    """Runs of at most ``limit``, as full as whole sentences allow; a longer sentence is alone."""
    first, last = section
    runs: list[Run] = []
    opening = None  # the latest paragraph before which this run might end
    position = first + 1
    while position < last:
        if (
            heed_openings
            and openings[position]
            and extent.between(first, position) >= limit * OPENING_SHARE
        ):
            opening = position
        if extent.between(first, position + 1) > limit:
            cut = opening or position
            runs.append((first, cut))
            first, opening, position = cut, None, cut
        position += 1
    if runs and extent.between(first, last) < limit * TAIL_SHARE:
        before, _ = runs.pop()
        first = min(
            range(before + 1, last),
            key=lambda cut: max(extent.between(before, cut), extent.between(cut, last)),
        )
        runs.append((before, first))
    runs.append((first, last))
    return runs


# --- The model's window ---------------------------------------------------------------------


def _fit_window(
    text: str,
    pieces: list[list[_Sentence]],
    context: str,
    window: int,
    count_tokens: CountTokens,
) -> list[Chunk]:
    def embedded() -> list[str]:
        return [embedded_text(context, text[piece[0].start : piece[-1].end]) for piece in pieces]

    # The context and the bare special tokens are weighed in the call that weighs the chunks.
    special, in_front, *counts = count_tokens(["", f"{context}\n" if context else "", *embedded()])
    if context and in_front > window // 2:
        context = _shorten(context, in_front, window // 2, count_tokens)
        special, in_front, *counts = count_tokens(["", f"{context}\n", *embedded()])
    room = window - in_front

    fitting: list[tuple[int, int, int]] = []
    while True:
        oversize = []
        for piece, count in zip(pieces, counts, strict=True):
            if count <= window:
                fitting.append((piece[0].start, piece[-1].end, count))
            else:
                oversize.append(piece)
        if not oversize:
            break
        # With the space that follows it each sentence is weighed for what it adds to a chunk.
        weights = iter(
            count_tokens(
                [
                    text[sentence.start : min(sentence.end + 1, piece[-1].end)]
                    for piece in oversize
                    for sentence in piece
                ]
            )
        )
        pieces = [
            part
            for piece in oversize
            for part in _divide(text, piece, [next(weights) - special for _ in piece], room)
        ]
        counts = count_tokens(embedded())

    return [
        Chunk(index, start, end, text[start:end], count)
        for index, (start, end, count) in enumerate(sorted(fitting))
    ]


def _divide(
    text: str, piece: list[_Sentence], weights: list[int], room: int
) -> list[list[_Sentence]]:
    """Parts of a piece that is too heavy: as few as should fit, two at least."""
    parts: list[_Sentence] = []
    sizes: list[int] = []
    for sentence, weight in zip(piece, weights, strict=True):
        length = sentence.end - sentence.start
        if weight <= room or length == 1:
            parts.append(sentence)
            sizes.append(weight)
            continue
        limit = max(1, _divide_up(length, _divide_up(weight, room)))
        for part in _split_graphemes_last(text, sentence, limit):
            parts.append(part)
            sizes.append(_divide_up(weight * (part.end - part.start), length))
    if len(parts) == 1:
        [part] = parts
        if part.end - part.start == 1:
            raise ValueError(f"the character at {part.start} exceeds the window on its own")
        halves = _split_graphemes_last(text, part, (part.end - part.start + 1) // 2)
        return [[half] for half in halves]
    sums = [0, *accumulate(sizes)]
    extent = _Extent(sums[:-1], sums[1:])
    openings = [part.is_opening for part in parts]
    whole = (0, len(parts))
    runs = min(
        _fill(extent, openings, whole, room),
        _fill(extent, openings, whole, room, heed_openings=False),
        key=len,
    )
    if len(runs) == 1:  # together they weigh more than their sum
        middle = len(parts) // 2
        runs = [(0, middle), (middle, len(parts))]
    return [parts[first:last] for first, last in runs]


def _split_graphemes_last(text: str, sentence: _Sentence, limit: int) -> list[_Sentence]:
    spans = _split(text, sentence.start, sentence.end, limit, keep_graphemes=True)
    return [
        _Sentence(start, end, sentence.is_opening and start == sentence.start)
        for start, end in spans
    ]
