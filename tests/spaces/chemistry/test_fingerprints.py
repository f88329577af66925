import numpy as np
import pytest

from core.exceptions import InvalidInput
from indexing.embedding import describe_model_availability, get_embedder
from spaces.rdkit_model import parse_smiles
from spaces.spec import CompoundSpec
from tests.spaces.chemistry.conftest import ASPIRIN, MOLECULES


def embedder(**settings):
    return get_embedder(CompoundSpec(**settings).embedding)


class TestFingerprint:
    def test_is_a_unit_vector_with_the_dimension_of_the_spec(self):
        vectors = embedder(bits=1_024).embed_documents(list(MOLECULES.values()))

        assert vectors.shape == (len(MOLECULES), 1_024)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)

    def test_is_the_same_for_every_notation_of_a_structure(self):
        vectors = embedder().embed_documents([ASPIRIN, "OC(=O)C1=CC=CC=C1OC(C)=O"])

        assert vectors[0] == pytest.approx(vectors[1])

    def test_is_the_same_for_a_query(self):
        assert embedder().embed_query(ASPIRIN) == pytest.approx(
            embedder().embed_documents([ASPIRIN])[0]
        )

    def test_gives_the_cosine_similarity_of_rdkit(self):
        """The number of shared environments, divided by the geometric mean of both numbers."""
        from rdkit import Chem, DataStructs
        from rdkit.Chem import rdFingerprintGenerator

        generator = rdFingerprintGenerator.GetMorganGenerator(radius=3, fpSize=2_048)
        first, second = (
            generator.GetFingerprint(Chem.MolFromSmiles(MOLECULES[name]))
            for name in ("Aspirin", "Salicylic acid")
        )
        one, other = embedder(radius=3).embed_documents(
            [MOLECULES["Aspirin"], MOLECULES["Salicylic acid"]]
        )

        assert float(one @ other) == pytest.approx(DataStructs.CosineSimilarity(first, second))

    def test_needs_no_file(self):
        assert "installed" in describe_model_availability(CompoundSpec().embedding)


class TestCheckStructure:
    @pytest.mark.parametrize("smiles", [*MOLECULES.values(), "C", "[Na+].[Cl-]", "C" * 2_000])
    def test_accepts_valid_smiles(self, smiles):
        parse_smiles(smiles)

    @pytest.mark.parametrize(
        "smiles",
        [
            "", " ", "aspirin", "C1CC", "c1ccccc1C(C)(C)(C)(C)C", "CC methane", "C\0C", "C\nC",
            "é", "\ud800", "(" * 1_000, "C" * 2_001,
        ],
    )  # fmt: skip
    def test_refuses_invalid_smiles(self, smiles, capfd):
        with pytest.raises(InvalidInput, match="is not a chemical structure") as refusal:
            parse_smiles(smiles)

        assert refusal.value.field == "structure"
        assert "SMILES" in refusal.value.fix
        assert capfd.readouterr() == ("", "")  # RDKit would print the error itself
