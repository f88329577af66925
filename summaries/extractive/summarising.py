"""Extractive summaries: the most representative sentences of a text, or one on one line."""

from collections.abc import Callable, Sequence

import numpy as np
import regex  # for Unicode properties, which re lacks
from numpy.typing import NDArray

from core.marginal_relevance import choose_by_marginal_relevance
from text.quotable_sentences import (
    LocatedSentence,
    find_quotable_sentences,
    find_truncation_end,
)

EmbedFunction = Callable[
    [Sequence[str]], NDArray[np.float32]
]  # unit-length rows, in the given order

RELEVANCE_WEIGHT = 0.7  # lambda of maximal marginal relevance: 1 considers relevance only
DUPLICATE_COSINE = 0.95  # two sentences with at least this cosine are duplicates
MAX_EMBEDDED_SENTENCES = 200  # sentences of one text
ELLIPSIS = "…"
_LONG_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]{4,}+")


def choose_by_centroid(vectors: NDArray[np.float32], count: int) -> list[int]:
    """Return the row numbers of at most ``count`` unit vectors, best first, without duplicates
    (a cosine of ``DUPLICATE_COSINE`` or more).

    The relevance of a row is its cosine with the mean of all rows.

    Source:
        Rossiello, Basile and Semeraro, "Centroid-based Text Summarization through
        Compositionality of Word Embeddings", MultiLing 2017, after Radev et al., "Centroid-based
        summarization of multiple documents", IP&M 40(6), 2004, which also limits the cosine of
        two chosen sentences.
    """
    if not len(vectors):
        return []
    centroid = vectors.mean(axis=0)
    relevance = vectors @ (centroid / max(float(np.linalg.norm(centroid)), 1e-12))
    return choose_sentences(vectors, relevance, count)


def choose_sentences(
    vectors: NDArray[np.float32], relevance: NDArray[np.float32], count: int
) -> list[int]:
    """Return the row numbers of at most ``count`` unit vectors, best first, without duplicates."""
    chosen = choose_by_marginal_relevance(
        relevance,
        vectors,
        weight=RELEVANCE_WEIGHT,
        count=count,
        duplicate_cosine=DUPLICATE_COSINE,
    )
    return [row for row, _ in chosen]


def summarise_texts(
    texts: Sequence[str], *, sentence_count: int, embed: EmbedFunction
) -> list[list[LocatedSentence]]:
    """Choose at most ``sentence_count`` sentences of each text, those closest to its centroid, in
    reading order, with at most one call of ``embed``.

    A text with no more sentences is returned whole. Duplicate sentences are left out, so there
    may be fewer. Of long texts, an even sample of ``MAX_EMBEDDED_SENTENCES`` is considered.
    Formulas and their sources: ``choose_by_centroid``.
    """
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


def summarise_in_one_line(text: str, *, heading: str, limit: int = 160) -> str:
    """Return the sentence that shares most words with the heading; the first one wins a tie.

    The sentence is put on one line and truncated to ``limit`` characters, including an ellipsis.
    The result is empty only for a blank text.
    """
    sentences = find_quotable_sentences(text)
    if not sentences:
        return ""
    heading_words = _find_long_words(heading)
    best = sentences[0]
    if heading_words:  # max returns the first one of a tie
        best = max(
            sentences, key=lambda sentence: len(heading_words & _find_long_words(sentence.text))
        )
    line = " ".join(best.text.split())
    if len(line) <= limit:
        return line
    end = find_truncation_end(line, 0, len(line), max(1, limit - len(ELLIPSIS)))
    return line[:end].rstrip(" ,;:–—、，；：") + ELLIPSIS


def _find_long_words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.casefold()))
