"""A fast fake of an embedding model."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from indexing.spec import EmbeddingSpec


class HashingEmbedder:
    """Embeds a text as a bag of hashed words: deterministic, and similar if words are shared."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        self.spec = spec
        self.embedded: list[str] = []  # every document text, in order

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def count_tokens(self, texts: Sequence[str], *, as_queries: bool = False) -> list[int]:
        return [len(text.split()) + 2 for text in texts]

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.spec.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.strip(".,;:!?").encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.spec.dimension] += 1
        return vector / np.linalg.norm(vector)
