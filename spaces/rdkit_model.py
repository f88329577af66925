"""Embed chemical structures as Morgan fingerprints (RDKit)."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec
from spaces.spec import MORGAN_PREFIX

INSTALL: Final = "strata install chemistry"
MAX_SMILES_CHARS: Final = 2_000  # enough for a small protein; parsed in milliseconds


def parse_smiles(smiles: str) -> Any:
    """Parse a SMILES string into an RDKit molecule.

    Raises:
        ModelUnavailable: RDKit is not installed.
        InvalidInput: the string is not a valid structure.
    """
    require_rdkit()
    from rdkit import Chem, rdBase

    # RDKit reads text after a space as a name, and fails on lone surrogates.
    is_bare = smiles.isascii() and smiles.isprintable() and " " not in smiles
    is_short = len(smiles) <= MAX_SMILES_CHARS
    with rdBase.BlockLogs():  # otherwise RDKit prints each error to standard error
        molecule = Chem.MolFromSmiles(smiles) if is_bare and is_short else None
    if molecule is None or not molecule.GetNumAtoms():
        raise InvalidInput(
            f"{smiles[:100]!r} is not a chemical structure.",
            field="structure",
            fix=f"Write it as SMILES of at most {MAX_SMILES_CHARS:,} characters and no spaces, "
            "such as CC(=O)Oc1ccccc1C(=O)O for aspirin.",
        )
    return molecule


def require_rdkit() -> None:
    """Check that RDKit is installed. Raises ``ModelUnavailable``: RDKit is not installed."""
    try:
        import rdkit  # noqa: F401
    except ImportError as error:
        raise ModelUnavailable("Chemical structures need RDKit.", fix=INSTALL) from error


def describe_availability(spec: EmbeddingSpec) -> str:
    """Say that RDKit is installed, which is all that every spec needs. Raises ``ModelUnavailable``:
    it is not."""
    require_rdkit()
    return "RDKit fingerprints; RDKit is installed."


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
        """Compute the fingerprint of each structure, of length 1. Raises ``InvalidInput``: a text
        is not a SMILES string."""
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
    Raises ``ModelUnavailable``: RDKit is not installed."""
    require_rdkit()
    return MorganModel(int(spec.model.removeprefix(MORGAN_PREFIX)), spec.dimension)
