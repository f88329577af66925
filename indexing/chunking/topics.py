"""Split at changes of topic, found by comparing the embeddings of neighbouring sentences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexing.chunking.long_sentences import split_long_sentences
from indexing.chunking.packing import measure_in_characters, pack_section, split_into_sections
from indexing.chunking.sentences import Sentence
from indexing.spec import SemanticStrategy

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
