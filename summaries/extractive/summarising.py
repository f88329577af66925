"""Extractive summaries: choose the most representative sentences of a text."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from summaries.extractive.centrality import choose_by_centroid
from summaries.extractive.sentences import LocatedSentence, find_quotable_sentences

EmbedFunction = Callable[
    [Sequence[str]], NDArray[np.float32]
]  # unit-length rows, in the given order

MAX_EMBEDDED_SENTENCES = 200  # sentences of one text


def summarise_text(
    text: str, *, sentence_count: int, embed: EmbedFunction
) -> list[LocatedSentence]:
    """Choose at most ``sentence_count`` sentences closest to the text's centroid, in reading order.

    A text with no more sentences is returned whole. Duplicate sentences are left out, so there
    may be fewer. Of long texts, an even sample of ``MAX_EMBEDDED_SENTENCES`` is considered.
    Formulas and their sources: ``choose_by_centroid``.
    """
    return summarise_texts([text], sentence_count=sentence_count, embed=embed)[0]


def summarise_texts(
    texts: Sequence[str], *, sentence_count: int, embed: EmbedFunction
) -> list[list[LocatedSentence]]:
    """Run ``summarise_text`` on each text, with at most one call of ``embed``."""
    candidates = [_sample_distinct_sentences(text) for text in texts]
    flat = [sentence.text for those in candidates for sentence in those]
    if not flat or sentence_count < 1:
        return [[] for _ in texts]
    vectors = embed(flat)
    summaries, first = [], 0
    for those in candidates:
        rows = choose_by_centroid(vectors[first : first + len(those)], sentence_count)
        summaries.append([those[row] for row in sorted(rows)])
        first += len(those)
    return summaries


def _sample_distinct_sentences(text: str) -> list[LocatedSentence]:
    """Quotable sentences without repetitions, evenly sampled down to the limit."""
    distinct: dict[str, LocatedSentence] = {}
    for sentence in find_quotable_sentences(text):
        distinct.setdefault(" ".join(sentence.text.casefold().split()), sentence)
    sentences = list(distinct.values())
    if len(sentences) <= MAX_EMBEDDED_SENTENCES:
        return sentences
    return [
        sentences[number * len(sentences) // MAX_EMBEDDED_SENTENCES]
        for number in range(MAX_EMBEDDED_SENTENCES)
    ]
