"""Choose representative vectors without duplicates: centroid relevance and MMR."""

import numpy as np
from numpy.typing import NDArray

RELEVANCE_WEIGHT = 0.7  # lambda of maximal marginal relevance: 1 considers relevance only
DUPLICATE_COSINE = 0.95  # two sentences with at least this cosine are duplicates


def choose_by_centroid(vectors: NDArray[np.float32], count: int) -> list[int]:
    """Return the row numbers of at most ``count`` unit vectors, best first, without duplicates
    (a cosine of ``DUPLICATE_COSINE`` or more).

    The relevance of a row is its cosine with the mean of all rows; rows are chosen by it with
    ``choose_by_marginal_relevance``.

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
    return choose_by_marginal_relevance(vectors, relevance, count)


def choose_by_marginal_relevance(
    vectors: NDArray[np.float32], relevance: NDArray[np.float32], count: int
) -> list[int]:
    """Return the row numbers of at most ``count`` unit vectors, best first, without duplicates.

    Each step chooses the row with the highest
    ``weight * relevance - (1 - weight) * (highest cosine with a chosen row)``; ties go to the
    earlier row.

    Source:
        Maximal marginal relevance: Carbonell and Goldstein, SIGIR 1998.
    """
    # Rounded, because a model's vector of the same text differs slightly from batch to batch.
    relevance = np.round(relevance, 5)
    max_cosine = np.full(len(vectors), -1.0)  # highest cosine with a chosen row
    chosen: list[int] = []
    while len(chosen) < count:
        repetition = np.maximum(max_cosine, 0) if chosen else 0
        gain = RELEVANCE_WEIGHT * relevance - (1 - RELEVANCE_WEIGHT) * repetition
        gain = np.where(max_cosine >= DUPLICATE_COSINE, -np.inf, gain)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf:
            break
        chosen.append(best)
        max_cosine = np.maximum(max_cosine, np.round(vectors @ vectors[best], 5))
        max_cosine[best] = 1.0
    return chosen
