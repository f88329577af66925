"""Nodes of chemical structures, with a fake embedding model."""

import sys

import pytest

from documents.models import Artifact
from documents.services import remove_artifact, update_artifact
from indexing.embedding import describe_model_availability, get_embedder
from indexing.estimates import estimate_build
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.models import Node
from indexing.services import plan_nodes, sync_nodes
from indexing.spec import IndexSpec, parse_spec
from indexing.stores import get_store
from indexing.verification import verify_build
from spaces import rdkit_model
from tests.factories import give, sync
from tests.indexed import list_unplanned
from tests.written import make_build

ASPIRIN, CAFFEINE = "CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"
RECIPE = {
    "metadata": {"smiles": {"type": "keyword", "many": True}},
    "compounds": {"bits": 384},  # dimension of the tests' embedder
}


@pytest.fixture
def chemistry(db, store, embedder, monkeypatch):
    """The live build of an index that accepts any text as a structure."""
    monkeypatch.setattr(rdkit_model, "parse_smiles", lambda smiles: None)
    return make_build("chemistry", **RECIPE)


def give_compounds(*smiles, **given):
    return give(index="chemistry", metadata={"smiles": list(smiles)}, **given)


def compounds(build):
    rows = Node.objects.filter(build=build, kind="compound").exclude(state=Node.State.DELETING)
    return sorted(rows.values_list("text", flat=True))


def stored(build):
    points = get_store().scroll(build.collection("compound"))
    return sorted(point.payload["text"] for batch in points for point in batch)


class TestSpec:
    def test_accepts_the_field_of_structures(self):
        spec = parse_spec(
            "chemistry", "metadata: {drawn_as: {type: keyword}}\ncompounds: {field: drawn_as}\n"
        )

        assert spec.kinds == ("chunk", "compound")
        assert spec.collection_alias("compound") == "chemistry.compound_embeddings"

    def test_has_a_model_for_each_kind(self):
        spec = IndexSpec.model_validate({"name": "chemistry", **RECIPE})

        assert spec.embedding_spec_for("chunk") == spec.embedding
        assert spec.embedding_spec_for("compound").provider == "rdkit"
        assert spec.embedding_spec_for("compound").dimension == 384
        assert spec.embedding_specs == {spec.embedding, spec.embedding_spec_for("compound")}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("compounds: true\n", "'smiles' must be declared"),
            ("metadata: {smiles: {type: text}}\ncompounds: true\n", "with type keyword"),
            (
                "metadata: {smiles: {type: keyword, lowercase: true}}\ncompounds: true\n",
                "without lowercase",
            ),
            ("compounds: {radios: 2}\n", "allowed here: field, radius, bits"),
            ("embedding: {provider: rdkit}\n", "embeds chemical structures, not text"),
        ],
    )
    def test_refuses_invalid_settings(self, text, words):
        with pytest.raises(InvalidSpec, match=words):
            parse_spec("chemistry", text)


class TestLedger:
    def test_has_each_structure_once(self, chemistry):
        artifact = give_compounds(ASPIRIN, CAFFEINE, ASPIRIN)

        sync(chemistry, artifact)

        assert compounds(chemistry) == stored(chemistry) == sorted([ASPIRIN, CAFFEINE])
        assert verify_build(chemistry).is_sound

    def test_stores_the_embedding_model_of_each_node(self, chemistry):
        sync(chemistry, give_compounds(ASPIRIN))

        models = Node.objects.values_list("kind", "embedding_model", "dimension").distinct()
        assert set(models) == {("chunk", "all-MiniLM-L6-v2", 384), ("compound", "morgan-2", 384)}

    def test_follows_the_metadata(self, chemistry):
        artifact = give_compounds(ASPIRIN)
        sync(chemistry, artifact)

        update_artifact(artifact.pk, metadata={"smiles": [CAFFEINE]})
        sync(chemistry, artifact)

        assert compounds(chemistry) == stored(chemistry) == [CAFFEINE]
        assert verify_build(chemistry).is_sound

    def test_embeds_no_structure_again_for_a_new_title(self, chemistry, embedder):
        artifact = give_compounds(ASPIRIN)
        sync(chemistry, artifact)
        embedder.embedded.clear()

        update_artifact(artifact.pk, title="Another")
        sync(chemistry, artifact)

        assert ASPIRIN not in embedder.embedded
        assert verify_build(chemistry).is_sound

    @pytest.mark.parametrize("metadata", [{}, {"smiles": []}, {"smiles": None}, {"other": "CC"}])
    def test_makes_no_nodes_without_structures(self, chemistry, metadata):
        artifact = give(index="chemistry")
        Artifact.objects.filter(pk=artifact.pk).update(metadata=metadata)  # without a signal
        sync(chemistry, artifact)

        assert not compounds(chemistry)
        assert not list_unplanned(chemistry)

    def test_detects_structures_changed_without_a_signal(self, chemistry):
        artifact = give(index="chemistry", metadata={"smiles": []})
        sync(chemistry, artifact)
        assert not list_unplanned(chemistry)

        Artifact.objects.filter(pk=artifact.pk).update(metadata={"smiles": [ASPIRIN]})

        assert list_unplanned(chemistry)

    def test_fails_only_an_invalid_structure(self, chemistry, embedder, monkeypatch):
        embed = embedder.embed_documents

        def choke(texts):
            if "no structure" in texts:
                raise ValueError("no structure")
            return embed(texts)

        monkeypatch.setattr(embedder, "embed_documents", choke)
        sync(
            chemistry,
            give_compounds(ASPIRIN, "no structure"),
            give_compounds(CAFFEINE, title="Beside it"),
        )
        while sync_nodes(chemistry):
            pass

        failed = Node.objects.filter(state=Node.State.FAILED)
        assert list(failed.values_list("text", flat=True)) == ["no structure"]
        assert stored(chemistry) == sorted([ASPIRIN, CAFFEINE])

    def test_loses_the_nodes_of_a_deleted_artifact(self, chemistry):
        artifact = give_compounds(ASPIRIN)
        sync(chemistry, artifact)

        artifact_id = artifact.pk
        remove_artifact(artifact_id)
        plan_nodes(artifact_id, chemistry)
        while sync_nodes(chemistry):
            pass

        assert stored(chemistry) == []
        assert verify_build(chemistry).is_sound


class TestWithoutRdkit:
    @pytest.fixture
    def bare(self, db, store, embedder, monkeypatch):
        monkeypatch.setitem(sys.modules, "rdkit", None)
        return make_build("chemistry", **RECIPE)

    def test_structures_are_refused(self, bare):
        with pytest.raises(ModelUnavailable, match="need RDKit") as refusal:
            give_compounds(ASPIRIN)

        assert refusal.value.fix == "strata install chemistry"
        assert not Artifact.objects.exists()

    def test_a_document_without_structures_is_accepted(self, bare):
        sync(bare, give(index="chemistry"))

        assert Node.objects.filter(kind="chunk", state=Node.State.SYNCED).exists()

    def test_the_model_names_what_is_missing(self, bare):
        with pytest.raises(ModelUnavailable, match="need RDKit"):
            describe_model_availability(bare.spec.embedding_spec_for("compound"))
        with pytest.raises(ModelUnavailable, match="need RDKit"):
            get_embedder(bare.spec.embedding_spec_for("compound"))


class TestEstimate:
    def test_counts_structures_of_a_new_recipe(self, chemistry, settings, tmp_path):
        sync(chemistry, give_compounds(ASPIRIN, CAFFEINE))
        settings.STRATA_SPECS_DIR = tmp_path
        (tmp_path / "chemistry.yaml").write_text(
            "metadata: {smiles: {type: keyword, many: true}}\ncompounds: {bits: 512}\n"
        )

        kinds = estimate_build("chemistry").kinds

        assert (kinds["compound"].reembedded, kinds["compound"].kept) == (2, 0)
        assert (kinds["chunk"].reembedded, kinds["chunk"].rebuilt) == (0, 0)
