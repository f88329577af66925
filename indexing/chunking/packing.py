"""Packing sentences to a size: first into sections, then each section into runs that fill it.

A size is in characters or in tokens, as the caller's ``Extent`` measures.
"""

from collections.abc import Sequence
from typing import NamedTuple

from indexing.chunking.sentences import Sentence
from indexing.chunking.splitting import split_long

# Shares of the limit (max_chars, or what the window leaves), chosen by reasoning: see cut_sections.
SECTION_SHARE = 0.5  # a section at least this long ends at the next paragraph break
OPENING_SHARE = 0.25  # a chunk this long would rather end at a paragraph than run full
TAIL_SHARE = 0.2  # a last chunk shorter than this is levelled with the one before

Run = tuple[int, int]  # sentences from the first to before the last


class Extent(NamedTuple):
    """Where each sentence begins and ends, in characters or in tokens."""

    heads: Sequence[int]
    tails: Sequence[int]

    def between(self, first: int, last: int) -> int:
        """The size of sentences ``first`` to ``last``, the latter excluded."""
        return self.tails[last - 1] - self.heads[first]


def pack_sentences(text: str, sentences: list[Sentence], limit: int) -> list[list[Sentence]]:
    """Runs of whole sentences up to ``limit`` characters; longer sentences are split first."""
    sentences = split_long(text, sentences, limit)
    openings = [sentence.is_opening for sentence in sentences]
    extent = in_characters(sentences)
    return [
        sentences[first:last]
        for section in cut_sections(extent, openings, limit * SECTION_SHARE, limit)
        for first, last in fill_section(extent, openings, section, limit)
    ]


def in_characters(sentences: list[Sentence]) -> Extent:
    return Extent(
        [sentence.start for sentence in sentences], [sentence.end for sentence in sentences]
    )


def cut_sections(extent: Extent, openings: Sequence[bool], least: float, limit: int) -> list[Run]:
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


def fill_section(
    extent: Extent,
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
