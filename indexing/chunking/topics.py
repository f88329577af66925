"""Cutting where the meaning turns, as the embeddings of neighbouring sentences tell."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexing.chunking.packing import cut_sections, fill_section, in_characters
from indexing.chunking.sentences import Sentence
from indexing.chunking.splitting import split_long
from indexing.spec import SemanticStrategy

Embed = Callable[[Sequence[str]], NDArray[Any]]

TOPIC_SHARE = 0.2  # of max_chars; a topic shorter than this is not cut off


def pack_topics(
    text: str, sentences: list[Sentence], strategy: SemanticStrategy, embed: Embed
) -> list[list[Sentence]]:
    """Cut where neighbouring sentences differ more than most neighbours of this source do.

    Each sentence is embedded together with the one before and the one after it; a topic ends
    where the cosine distance to the next such window is above the percentile of all distances.
    An edit can move the percentile, and with it cuts elsewhere in the source.

    Source:
        Kamradt, "5 Levels of Text Splitting" (2024), level 4: percentile breakpoints over
        windows of one neighbour on either side.
    """
    limit = strategy.max_chars
    sentences = split_long(text, sentences, limit)
    turns = _find_turns(text, sentences, strategy.breakpoint_percentile, embed)
    openings = [sentence.is_opening for sentence in sentences]
    extent = in_characters(sentences)
    return [
        sentences[first:last]
        for section in cut_sections(extent, turns, limit * TOPIC_SHARE, limit)
        for first, last in fill_section(extent, openings, section, limit)
    ]


def _find_turns(text: str, sentences: list[Sentence], percentile: int, embed: Embed) -> list[bool]:
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
