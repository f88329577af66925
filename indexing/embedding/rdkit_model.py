"""Embed chemical structures as Morgan fingerprints (RDKit)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexing.embedding.smiles import parse_smiles, require_rdkit
from indexing.spec import MORGAN_PREFIX, EmbeddingSpec


class MorganModel:
    """Morgan fingerprints as unit vectors. The product of two is the number of atom environments
    they share, divided by the geometric mean of their numbers of environments.

    Source:
        Rogers and Hahn, "Extended-Connectivity Fingerprints", J. Chem. Inf. Model. 2010: radius 2
        is their ECFP4. The measure is Ochiai's, the cosine of sets.
    """

    batch_texts = 256
    batch_tokens = 1  # nothing is padded

    def __init__(self, radius: int, bits: int) -> None:
        from rdkit.Chem import rdFingerprintGenerator

        self._generator: Any = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=bits)

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        """
        Raises:
            InvalidInput: a text is not a SMILES string.
        """
        return np.stack([self._embed(text) for text in texts])

    embed_queries = embed_batch

    def _embed(self, text: str) -> NDArray[np.float32]:
        bits = self._generator.GetFingerprintAsNumPy(parse_smiles(text)).astype(np.float32)
        return np.asarray(bits / np.linalg.norm(bits), np.float32)

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Return 0 for each: structures have no tokens."""
        return [0] * len(texts)


def load_fingerprint_model(spec: EmbeddingSpec) -> MorganModel:
    """Create the model; its radius ends the spec's model name, its bit count is the dimension.

    Raises:
        ModelUnavailable: RDKit is not installed.
    """
    require_rdkit()
    return MorganModel(int(spec.model.removeprefix(MORGAN_PREFIX)), spec.dimension)
