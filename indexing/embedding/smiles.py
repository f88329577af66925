"""Parse chemical structures with RDKit, an optional extra (requirements/chemistry.in)."""

from typing import Any, Final

from core.exceptions import InvalidInput
from indexing.exceptions import ModelUnavailable

INSTALL: Final = "pip install --require-hashes --no-deps -r requirements/chemistry.txt"
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
    """Check that RDKit is installed.

    Raises:
        ModelUnavailable: RDKit is not installed.
    """
    try:
        import rdkit  # noqa: F401
    except ImportError as error:
        raise ModelUnavailable("Chemical structures need RDKit.", fix=INSTALL) from error
