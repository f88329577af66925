"""Pack sentences to a size: split them into sections, then pack each section into ranges."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexing.spec import SemanticStrategy
from text.sentences import Sentence, split_long_sentences

# Shares of the limit (max_chars, or tokens of the window); split_into_sections gives the reasons.
MIN_SECTION_SHARE = 0.5  # a section at least this long ends at the next paragraph break
MIN_CHUNK_SHARE = 0.25  # a chunk this long ends at a paragraph break if it can
MIN_TAIL_SHARE = 0.2  # a shorter last chunk is balanced with the one before

SentenceRange = tuple[int, int]  # index of the first sentence, and one past the last


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

    If a whole source were packed greedily, one edit would move every later chunk, and each moved
    chunk would be embedded again. Here every paragraph of at least ``min_size`` ends its section,
    so an edit moves only chunks of its section. Shorter paragraphs, as in slides and lists, share
    chunks instead of becoming many tiny ones. Within a long paragraph, the packings before and
    after an edit agree again after a few sentences.
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
    """Pack a section greedily into ranges of at most ``limit``; a longer sentence has its own
    range."""
    first, last = section
    runs: list[SentenceRange] = []
    opening = None  # the last paragraph start at which this range may end
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


EmbedTexts = Callable[[Sequence[str]], NDArray[Any]]

MIN_TOPIC_SHARE = 0.2  # of max_chars; a shorter topic is not separated


def pack_by_topic(
    text: str, sentences: list[Sentence], strategy: SemanticStrategy, embed: EmbedTexts
) -> list[list[Sentence]]:
    """Split where neighbouring sentences differ more than most neighbours in this source.

    Each sentence is embedded together with the one before and the one after it; a topic ends
    where the cosine distance to the next such window is above the percentile of all distances.
    An edit can change the percentile and so move cuts elsewhere in the source.

    Source:
        Kamradt, "5 Levels of Text Splitting" (2024), level 4: percentile breakpoints over
        windows of one neighbour on either side.
    """
    limit = strategy.max_chars
    sentences = split_long_sentences(text, sentences, limit)
    topic_breaks = _find_topic_breaks(text, sentences, strategy.breakpoint_percentile, embed)
    return _pack_topics(sentences, topic_breaks, limit)


def pack_between_boundaries(
    text: str, sentences: list[Sentence], boundaries: Sequence[int], limit: int
) -> list[list[Sentence]]:
    """Split at these offsets; one inside a sentence counts for the next."""
    sentences = split_long_sentences(text, sentences, limit)
    starts = [sentence.start for sentence in sentences]
    opening = {bisect_left(starts, boundary) for boundary in boundaries}
    return _pack_topics(sentences, [index in opening for index in range(len(sentences))], limit)


def _pack_topics(
    sentences: list[Sentence], topic_breaks: Sequence[bool], limit: int
) -> list[list[Sentence]]:
    paragraph_starts = [sentence.is_paragraph_start for sentence in sentences]
    positions = measure_in_characters(sentences)
    return [
        sentences[first:last]
        for section in split_into_sections(positions, topic_breaks, limit * MIN_TOPIC_SHARE, limit)
        for first, last in pack_section(positions, paragraph_starts, section, limit)
    ]


def _find_topic_breaks(
    text: str, sentences: list[Sentence], percentile: int, embed: EmbedTexts
) -> list[bool]:
    """For each sentence, whether the topic changes before it."""
    topic_breaks = [False] * len(sentences)
    if len(sentences) < 2:
        return topic_breaks
    befores = [sentences[0], *sentences[:-1]]
    afters = [*sentences[1:], sentences[-1]]
    windows = [
        text[before.start : after.end] for before, after in zip(befores, afters, strict=True)
    ]
    vectors = np.asarray(embed(windows), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    distances = 1 - np.sum(vectors[:-1] * vectors[1:], axis=1)
    threshold = np.percentile(distances, percentile) + 1e-9  # tolerates rounding errors
    for index in np.flatnonzero(distances > threshold):
        topic_breaks[int(index) + 1] = True
    return topic_breaks
