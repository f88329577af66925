"""Fitting chunks to the model's window: what weighs too many tokens is divided until it fits."""

from dataclasses import dataclass
from itertools import accumulate

from indexing.chunking.context import CountTokens, embedded_text, shorten
from indexing.chunking.packing import Extent, fill_section
from indexing.chunking.sentences import Sentence
from indexing.chunking.splitting import divide_up, split_graphemes_last
from indexing.exceptions import UnchunkableText


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


def fit_window(
    text: str,
    pieces: list[list[Sentence]],
    context: str,
    window: int,
    count_tokens: CountTokens,
) -> list[Chunk]:
    """The pieces as chunks, those heavier than ``window`` tokens with their context divided."""

    def embedded() -> list[str]:
        return [embedded_text(context, text[piece[0].start : piece[-1].end]) for piece in pieces]

    # The context and the bare special tokens are weighed in the call that weighs the chunks.
    special, in_front, *counts = count_tokens(["", f"{context}\n" if context else "", *embedded()])
    if context and in_front > window // 2:
        context = shorten(context, in_front, window // 2, count_tokens)
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
    text: str, piece: list[Sentence], weights: list[int], room: int
) -> list[list[Sentence]]:
    """Parts of a piece that is too heavy: as few as should fit, two at least."""
    parts: list[Sentence] = []
    sizes: list[int] = []
    for sentence, weight in zip(piece, weights, strict=True):
        length = sentence.end - sentence.start
        if weight <= room or length == 1:
            parts.append(sentence)
            sizes.append(weight)
            continue
        limit = max(1, divide_up(length, divide_up(weight, room)))
        for part in split_graphemes_last(text, sentence, limit):
            parts.append(part)
            sizes.append(divide_up(weight * (part.end - part.start), length))
    if len(parts) == 1:
        [part] = parts
        if part.end - part.start == 1:
            raise UnchunkableText(
                f"The character at {part.start} of a passage has more tokens than the embedding "
                "model's window."
            )
        halves = split_graphemes_last(text, part, (part.end - part.start + 1) // 2)
        return [[half] for half in halves]
    sums = [0, *accumulate(sizes)]
    extent = Extent(sums[:-1], sums[1:])
    openings = [part.is_opening for part in parts]
    whole = (0, len(parts))
    runs = min(
        fill_section(extent, openings, whole, room),
        fill_section(extent, openings, whole, room, heed_openings=False),
        key=len,
    )
    if len(runs) == 1:  # together they weigh more than their sum
        middle = len(parts) // 2
        runs = [(0, middle), (middle, len(parts))]
    return [parts[first:last] for first, last in runs]
