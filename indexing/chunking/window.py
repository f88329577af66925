"""Fit chunks to the model's window: split those with too many tokens until each fits, and put
context, such as the title, before a chunk's text, shortened to what fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from indexing.chunking.packing import SentencePositions, pack_section
from indexing.exceptions import UnchunkableText
from text.sentences import Sentence, ceil_divide, find_split_position, split_sentence

CountTokens = Callable[[Sequence[str]], list[int]]


def prepend_context(context: str, text: str) -> str:
    """Return the text that is embedded and tokenised for a chunk: its context, a newline, its text.

    Returns the text unchanged if there is no context or if it already begins with it.
    """
    next_character = text[len(context) : len(context) + 1]
    if not context or (text.startswith(context) and not next_character.isalnum()):
        return text
    return f"{context}\n{text}"


def fit_context(context: str, window: int, count_tokens: CountTokens) -> str:
    """The context without outer white space, shortened to at most half of ``window`` tokens.

    The other half is left for the chunk. The context is cut after a clause or word if possible.
    A context that fits is returned unchanged, apart from white space.
    """
    context = context.strip()
    if not context:
        return ""
    [count] = count_tokens([f"{context}\n"])
    if count <= window // 2:
        return context
    return shorten_context(context, count, window // 2, count_tokens)


def shorten_context(context: str, count: int, max_tokens: int, count_tokens: CountTokens) -> str:
    """Return a beginning of at most ``max_tokens`` tokens; the whole context has ``count``."""
    # Tries falling lengths in one call instead of a bisection in many. It starts above the length
    # that the average token suggests, because the beginning may have longer tokens.
    length = min(len(context) - 1, len(context) * max_tokens * 3 // (count * 2) + 1)
    candidates = []
    while length:
        cut = find_split_position(context, 0, len(context), length, length)
        candidates.append(context[:cut].rstrip())
        length = length * 9 // 10
    counts = count_tokens([f"{candidate}\n" for candidate in candidates])
    fitting = (text for text, size in zip(candidates, counts, strict=True) if size <= max_tokens)
    return next(fitting, "")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of its source: ``text == source[start:end]``, in code points.

    ``token_count`` is that of ``prepend_context(context, text)``, special tokens included.
    """

    index: int
    start: int
    end: int
    text: str
    token_count: int


def fit_to_window(
    text: str, pieces: list[list[Sentence]], context: str, window: int, count_tokens: CountTokens
) -> list[Chunk]:
    """Return the pieces as chunks; split those over ``window`` tokens with their context."""

    def embedded() -> list[str]:
        return [prepend_context(context, text[piece[0].start : piece[-1].end]) for piece in pieces]

    # One call counts the tokens of the context, the special tokens and the chunks.
    special_tokens, context_tokens, *counts = count_tokens(
        ["", f"{context}\n" if context else "", *embedded()]
    )
    if context and context_tokens > window // 2:
        context = shorten_context(context, context_tokens, window // 2, count_tokens)
        special_tokens, context_tokens, *counts = count_tokens(["", f"{context}\n", *embedded()])
    available_tokens = window - context_tokens

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
        # A sentence is counted with the space after it, which is what it adds to a chunk.
        token_counts = iter(
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
            for part in _split_piece(
                text, piece, [next(token_counts) - special_tokens for _ in piece], available_tokens
            )
        ]
        counts = count_tokens(embedded())

    # Pieces that overlap may have been split into the same parts.
    return [
        Chunk(index, start, end, text[start:end], count)
        for index, (start, end, count) in enumerate(sorted(set(fitting)))
    ]


def _split_piece(
    text: str, piece: list[Sentence], token_counts: list[int], available_tokens: int
) -> list[list[Sentence]]:
    """Split a piece with too many tokens into as few parts as should fit, at least two."""
    parts: list[Sentence] = []
    sizes: list[int] = []
    for sentence, weight in zip(piece, token_counts, strict=True):
        length = sentence.end - sentence.start
        if weight <= available_tokens or length == 1:
            parts.append(sentence)
            sizes.append(weight)
            continue
        limit = max(1, ceil_divide(length, ceil_divide(weight, available_tokens)))
        for part in split_sentence(text, sentence, limit):
            parts.append(part)
            sizes.append(ceil_divide(weight * (part.end - part.start), length))
    if len(parts) == 1:
        [part] = parts
        if part.end - part.start == 1:
            raise UnchunkableText(
                f"The character at offset {part.start} of a passage has more tokens than the "
                "embedding model's window."
            )
        halves = split_sentence(text, part, (part.end - part.start + 1) // 2)
        return [[half] for half in halves]
    sums = [0, *accumulate(sizes)]
    positions = SentencePositions(sums[:-1], sums[1:])
    paragraph_starts = [part.is_paragraph_start for part in parts]
    whole_range = (0, len(parts))
    ranges = min(
        pack_section(positions, paragraph_starts, whole_range, available_tokens),
        pack_section(
            positions, paragraph_starts, whole_range, available_tokens, prefer_paragraph_ends=False
        ),
        key=len,
    )
    if len(ranges) == 1:  # joined, they have more tokens than their sum
        middle = len(parts) // 2
        ranges = [(0, middle), (middle, len(parts))]
    return [parts[first:last] for first, last in ranges]
