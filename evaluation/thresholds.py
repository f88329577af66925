"""Thresholds of similarity for an embedding model, from those measured for the default one.

Cosines of two models are not comparable: those of e5 lie between 0.7 and 1. A threshold is carried
over by its rank: as many of the sampled pairs exceed the new one as exceed the old one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexing import embedding
from indexing.embedding.vectors import normalise
from indexing.spec import EmbeddingSpec

SHARES = tuple(n / 10 for n in range(1, 10))  # of a text's words, compared with the whole text


@dataclass(frozen=True, slots=True)
class GateThreshold:
    """The cosine that separates questions best; the shares of each group that it judges rightly."""

    min_similarity: float
    about_share: float
    other_share: float


def carry_over(
    thresholds: Mapping[str, float], texts: Sequence[str], spec: EmbeddingSpec
) -> dict[str, float]:
    """The thresholds of the default model, for the model of ``spec``.

    Each text is compared with its beginnings and with another text, so that pairs of every
    similarity occur.

    Raises:
        EmbeddingUnavailable, ModelUnavailable: of one of the two models.
    """
    old, new = (np.sort(_measure_pairs(texts, each)) for each in (EmbeddingSpec(), spec))
    return {name: float(np.interp(threshold, old, new)) for name, threshold in thresholds.items()}


def choose_gate(about: Iterable[float], other: Iterable[float]) -> GateThreshold:
    """The threshold with the highest mean share of right judgements, in the middle of its gap.

    ``about``, ``other``: for each question about the index or about something else, the cosine of
    its nearest passage.
    """
    above, below = np.sort(list(about)), np.sort(list(other))
    cosines = np.unique(np.concatenate([above, below]))
    candidates = (cosines[1:] + cosines[:-1]) / 2
    shares = [((above >= each).mean(), (below < each).mean()) for each in candidates]
    means = np.array([sum(pair) for pair in shares])
    best = np.flatnonzero(np.isclose(means, means.max()))
    at = best[len(best) // 2]
    return GateThreshold(float(candidates[at]), float(shares[at][0]), float(shares[at][1]))


def _measure_pairs(texts: Sequence[str], spec: EmbeddingSpec) -> NDArray[np.float32]:
    embedder = embedding.get_embedder(spec)
    whole = normalise(embedder.embed_documents(texts))
    words = [text.split() for text in texts]
    pairs = [(whole * np.roll(whole, 1, axis=0)).sum(axis=1)]
    for share in SHARES:
        beginnings = [" ".join(each[: max(1, round(len(each) * share))]) for each in words]
        pairs.append((whole * normalise(embedder.embed_documents(beginnings))).sum(axis=1))
    return np.concatenate([*pairs, [-1, 1]])  # the bounds of every cosine
