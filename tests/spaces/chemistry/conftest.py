"""Chemical structures as RDKit reads them; without RDKit these tests are skipped."""

import importlib.util

import pytest

from indexing import embedding
from indexing.embedding import get_embedder
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.written import make_build

HAS_RDKIT = importlib.util.find_spec("rdkit") is not None

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
# The salts: aspirin as an ion, twice in one salt, and beside a larger molecule.
MOLECULES = {
    "Aspirin": ASPIRIN,
    "Aspirin sodium": "CC(=O)Oc1ccccc1C(=O)[O-].[Na+]",
    "Carbasalate's calcium salt": "CC(=O)Oc1ccccc1C(=O)[O-].CC(=O)Oc1ccccc1C(=O)[O-].[Ca+2]",
    "Lysine acetylsalicylate": "CC(=O)Oc1ccccc1C(=O)O.NCCCCC(N)C(=O)O",
    "Salicylic acid": "O=C(O)c1ccccc1O",
    "Paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "Ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "Caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
}
SAYINGS = {
    "Caffeine": "It keeps the tired awake through the night.",
    "Ibuprofen": "It eases the pain of a sprained ankle.",
}


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="RDKit is not installed; .ci/extras runs them with it")
    for item in items:
        if not HAS_RDKIT and item.path.parent.name == "chemistry":
            item.add_marker(skip)


@pytest.fixture
def pharmacy(db, store, embedder, monkeypatch):
    """The live build of an index with these molecules, one per document."""
    monkeypatch.setattr(
        embedding,
        "get_embedder",
        lambda spec: get_embedder(spec) if spec.provider == "rdkit" else embedder,
    )
    build = make_build(
        "pharmacy",
        metadata={"smiles": {"type": "keyword"}, "sold": {"type": "bool"}},
        compounds=True,
    )
    for name, smiles in MOLECULES.items():
        text = SAYINGS.get(name, f"{name} is kept in a dry place.")
        metadata = {"smiles": smiles, "sold": name != "Aspirin sodium"}
        sync(build, give(text, index="pharmacy", title=name, metadata=metadata))
    return build


@pytest.fixture
def client(db):
    return client_with_key()
