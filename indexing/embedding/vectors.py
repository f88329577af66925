"""The array types of embedding vectors, and their cosine."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def normalise(vectors: Vectors) -> Vectors:
    """The rows with length 1; a row of zeros stays."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
