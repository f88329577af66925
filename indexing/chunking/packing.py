"""Pack sentences to a size: split them into sections, then pack each section into ranges.

Sizes are in characters or in tokens, as the caller's ``SentencePositions`` measure.
"""

from collections.abc import Sequence
from typing import NamedTuple

from indexing.chunking.long_sentences import split_long_sentences
from indexing.chunking.sentences import Sentence

# Shares of the limit (max_chars, or what the window leaves), chosen by reasoning: see cut_sections.
MIN_SECTION_SHARE = 0.5  # a section at least this long ends at the next paragraph break
MIN_CHUNK_SHARE = 0.25  # a chunk this long would rather end at a paragraph than run full
MIN_TAIL_SHARE = 0.2  # a last chunk shorter than this is levelled with the one before

SentenceRange = tuple[int, int]  # sentences from the first to before the last


class SentencePositions(NamedTuple):
    """Where each sentence begins and ends, in characters or in tokens."""

    starts: Sequence[int]
    ends: Sequence[int]

    def range_size(self, first: int, last: int) -> int:
        """The size of sentences ``first`` to ``last``, the latter excluded."""
        return self.ends[last - 1] - self.starts[first]


def pack_sentences(text: str, sentences: list[Sentence], limit: int) -> list[list[Sentence]]:
    """Runs of whole sentences up to ``limit`` characters; longer sentences are split first."""
    sentences = split_long_sentences(text, sentences, limit)
    paragraph_starts = [sentence.is_paragraph_start for sentence in sentences]
    positions = measure_in_characters(sentences)
    return [
        sentences[first:last]
        for section in split_into_sections(
            positions, paragraph_starts, limit * MIN_SECTION_SHARE, limit
        )
        for first, last in pack_section(positions, paragraph_starts, section, limit)
    ]


def measure_in_characters(sentences: list[Sentence]) -> SentencePositions:
    return SentencePositions(
        [sentence.start for sentence in sentences], [sentence.end for sentence in sentences]
    )


def split_into_sections(
    positions: SentencePositions, paragraph_starts: Sequence[bool], min_size: float, limit: int
) -> list[SentenceRange]:
    """Split sentences into sections that are packed independently of each other.

    A section ends before the first paragraph that starts after ``min_size``.

    Packing greedily over a whole source lets one edit move every later chunk, and each moved
    chunk is embedded again. Here every paragraph of at least ``min_size`` ends its section whatever
    came before it, so an edit reaches no further; slides and lists, whose paragraphs are
    shorter, still share chunks instead of making a crowd of tiny ones. Within a long paragraph
    two greedy packings fall into step again after a few sentences.
    """
    count = len(positions.starts)
    runs: list[SentenceRange] = []
    first = 0
    for opening in range(1, count):
        if paragraph_starts[opening] and positions.range_size(first, opening) >= min_size:
            runs.append((first, opening))
            first = opening
    if runs and positions.range_size(first, count) < limit * MIN_TAIL_SHARE:
        first, _ = runs.pop()
    runs.append((first, count))
    return runs


def pack_section(
    positions: SentencePositions,
    paragraph_starts: Sequence[bool],
    section: SentenceRange,
    limit: int,
    *,
    prefer_paragraph_ends: bool = True,
) -> list[SentenceRange]:
    """Pack a section greedily into ranges of at most ``limit``; a longer sentence stays alone."""
    first, last = section
    runs: list[SentenceRange] = []
    opening = None  # the latest paragraph before which this run might end
    position = first + 1
    while position < last:
        if (
            prefer_paragraph_ends
            and paragraph_starts[position]
            and positions.range_size(first, position) >= limit * MIN_CHUNK_SHARE
        ):
            opening = position
        if positions.range_size(first, position + 1) > limit:
            cut = opening or position
            runs.append((first, cut))
            first, opening, position = cut, None, cut
        position += 1
    if runs and positions.range_size(first, last) < limit * MIN_TAIL_SHARE:
        before, _ = runs.pop()
        first = min(
            range(before + 1, last),
            key=lambda cut: max(positions.range_size(before, cut), positions.range_size(cut, last)),
        )
        runs.append((before, first))
    runs.append((first, last))
    return runs
