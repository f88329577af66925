"""Maximal marginal relevance (MMR): choose what is relevant and not said already."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def choose_by_marginal_relevance(
    relevance: Sequence[float] | NDArray[np.floating],
    vectors: NDArray[np.float32],
    *,
    weight: float,
    count: int,
    duplicate_cosine: float = np.inf,
) -> list[tuple[int, float]]:
    """Choose at most ``count`` rows: (row, its value when it was chosen), in the order of choice.

    Each step chooses the row with the highest ``weight * relevance - (1 - weight) * nearest``,
    where ``nearest`` is its highest cosine with a chosen row, at least 0. Ties go to the earlier
    row. A row with a cosine of ``duplicate_cosine`` or more with a chosen row is left out.

    Args:
        relevance: one number per row.
        vectors: (rows, dimension), of unit length.
        weight: lambda of the formula, 0 to 1; 1 considers relevance only.

    Source:
        Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering
        Documents and Producing Summaries", SIGIR 1998.
    """
    # Rounded, because a model's vector of the same text differs slightly from batch to batch.
    own = np.round(np.asarray(relevance, dtype=np.float64), 5)
    nearest = np.zeros(len(own))
    is_left = np.ones(len(own), dtype=bool)
    chosen: list[tuple[int, float]] = []
    while len(chosen) < count and is_left.any():
        values = np.where(is_left, weight * own - (1 - weight) * nearest, -np.inf)
        row = int(np.argmax(values))
        chosen.append((row, float(values[row])))
        cosines = np.round(vectors @ vectors[row], 5)
        is_left &= cosines < duplicate_cosine
        is_left[row] = False
        nearest = np.maximum(nearest, cosines)
    return chosen
