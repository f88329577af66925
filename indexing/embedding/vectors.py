"""The array types of embedding vectors, and their cosine."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
