"""Nodes of images, with a fake embedding model."""

import pytest

from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import (
    TextContent,
    add_artifact,
    remove_artifact,
    replace_content,
    update_artifact,
)
from indexing.estimates import estimate_build
from indexing.exceptions import InvalidSpec
from indexing.models import Node
from indexing.services import load_specs, plan_nodes, sync_nodes
from indexing.spec import IndexSpec, parse_spec
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.factories import original_path, sync
from tests.indexed import list_unplanned
from tests.pictures import draw
from tests.written import make_build

RECIPE = {"images": {"dimension": 384}}  # dimension of the tests' embedder


@pytest.fixture
def gallery(db, store, embedder):
    return make_build("gallery", **RECIPE)


@pytest.fixture
def hang(gallery):
    def hang(content, name="heron.png", *, build=gallery, **given):
        artifact, _ = add_artifact(build.index_id, save_incoming_file(name, [content]), **given)
        parse_artifact(artifact.pk)
        artifact.refresh_from_db()
        sync(build, artifact)
        return artifact

    return hang


def images(build):
    rows = Node.objects.filter(build=build, kind="image").exclude(state=Node.State.DELETING)
    return sorted(rows.values_list("source_hash", flat=True))


def stored(build):
    points = get_store().scroll(build.collection("image"))
    return sorted(point.payload["source_hash"] for batch in points for point in batch)


def status(artifact):
    return get_catalog().with_status(Artifact.objects.filter(pk=artifact.pk)).get().status


class TestSpec:
    def test_accepts_true(self):
        spec = parse_spec("gallery", "images: true\n")

        assert spec.kinds == ("chunk", "image")
        assert spec.collection_alias("image") == "gallery.image_embeddings"
        model = spec.embedding_spec_for("image")
        assert (model.provider, model.model, model.dimension) == (
            "clip", "Qdrant/clip-ViT-B-32", 512,
        )  # fmt: skip

    def test_has_a_model_for_each_kind(self):
        spec = IndexSpec.model_validate({"name": "gallery", **RECIPE})

        assert spec.embedding_spec_for("chunk") == spec.embedding
        assert spec.embedding_specs == {spec.embedding, spec.embedding_spec_for("image")}

    def test_can_have_only_images(self):
        spec = parse_spec("gallery", "chunks: {embed: false}\nimages: true\n")

        assert spec.kinds == ("image",)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("images: {modell: x}\n", "allowed here: model, dimension"),
            ("images: {dimension: 0}\n", "images.dimension"),
            ("embedding: {provider: clip}\n", "set images: true"),
        ],
    )
    def test_refuses_invalid_settings(self, text, words):
        with pytest.raises(InvalidSpec, match=words):
            parse_spec("gallery", text)


class TestLedger:
    def test_has_one_node_for_a_picture(self, gallery, hang):
        artifact = hang(draw(), title="A heron at dawn")

        assert images(gallery) == stored(gallery) == [artifact.sha256]
        assert (artifact.media_type, artifact.warnings) == ("image/png", [])
        assert artifact.pages.count() == 1
        assert not artifact.sources.exists()
        assert status(artifact) == "ready"
        assert verify_build(gallery).is_sound

    def test_titles_a_picture_by_its_file_name(self, gallery, hang):
        assert hang(draw()).title == "heron"

    def test_embeds_the_file_it_names(self, gallery, hang, embedder, settings):
        artifact = hang(draw())

        [name] = embedder.embedded
        assert (settings.STRATA_FILES_DIR / name).read_bytes() == draw()
        assert original_path(artifact) == settings.STRATA_FILES_DIR / name

    def test_stores_the_embedding_model_of_each_node(self, gallery, hang):
        hang(draw())

        models = Node.objects.values_list("kind", "embedding_model", "dimension")
        assert set(models) == {("image", "Qdrant/clip-ViT-B-32", 384)}

    def test_embeds_another_revision_in_its_place(self, gallery, hang, embedder):
        artifact = hang(draw("red"), external_id="heron")
        embedder.embedded.clear()

        revised = hang(draw("blue"), external_id="heron")

        assert revised.pk == artifact.pk
        assert images(gallery) == stored(gallery) == [revised.sha256] != [artifact.sha256]
        assert len(embedder.embedded) == 1
        assert verify_build(gallery).is_sound

    def test_embeds_nothing_again_for_a_new_title(self, gallery, hang, embedder):
        artifact = hang(draw())
        embedder.embedded.clear()

        update_artifact(artifact.pk, title="Another", metadata={"year": 2019})
        assert list_unplanned(gallery)
        sync(gallery, artifact)

        assert embedder.embedded == []
        [batch] = get_store().scroll(gallery.collection("image"))
        assert batch[0].payload["artifact_title"] == "Another"
        assert batch[0].payload["metadata"] == {"year": 2019}
        assert not list_unplanned(gallery)
        assert verify_build(gallery).is_sound

    def test_loses_the_node_of_a_deleted_artifact(self, gallery, hang):
        artifact = hang(draw())

        artifact_id = artifact.pk
        remove_artifact(artifact_id)
        plan_nodes(artifact_id, gallery)
        while sync_nodes(gallery):
            pass

        assert stored(gallery) == []
        assert verify_build(gallery).is_sound

    def test_loses_the_node_if_its_artifact_becomes_a_text(self, gallery, hang):
        artifact = hang(draw(), external_id="heron")

        replace_content(artifact.pk, TextContent(("A heron waits.",)))
        sync(gallery, artifact)

        assert images(gallery) == stored(gallery) == []
        assert verify_build(gallery).is_sound

    def test_has_pictures_and_texts_in_one_index(self, gallery, hang):
        hang(draw())
        text = hang(b"A heron waits.", "heron.txt")

        assert set(Node.objects.values_list("kind", flat=True)) == {"chunk", "image"}
        assert status(text) == "ready"
        assert verify_build(gallery).is_sound

    def test_detects_pictures_changed_without_a_signal(self, gallery, hang):
        hang(draw())
        assert not list_unplanned(gallery)

        Artifact.objects.update(sha256="0" * 64)

        assert list_unplanned(gallery)

    @pytest.mark.parametrize("recipe", [{"page_summaries": True}, {"questions": True}])
    def test_does_not_wait_for_written_texts(self, db, store, embedder, hang, recipe):
        build = make_build("written", **RECIPE, **recipe)

        artifact = hang(draw(), build=build)

        assert status(artifact) == "ready"
        assert verify_build(build).is_sound


class TestRefusals:
    def test_of_pictures_in_an_index_without_images(self, gallery, hang):
        load_specs()

        artifact = hang(draw(), build=gallery.__class__.objects.live().get(index="plain"))

        assert (artifact.state, artifact.error_code) == ("failed", "unsupported_format")

    def test_of_damaged_pictures(self, gallery, hang):
        artifact = hang(draw(size=(600, 600))[:400])

        assert (artifact.state, artifact.error_code) == ("failed", "damaged_file")
        assert artifact.error_detail.startswith("The file is damaged")
        assert images(gallery) == []
        assert verify_build(gallery).is_sound


class TestEstimate:
    def test_counts_pictures_of_a_new_recipe(self, gallery, hang, settings, tmp_path):
        hang(draw())
        settings.STRATA_SPECS_DIR = tmp_path / "specs"
        settings.STRATA_SPECS_DIR.mkdir()
        (tmp_path / "specs" / "gallery.yaml").write_text("images: {dimension: 512}\n")

        kinds = estimate_build("gallery").kinds

        assert (kinds["image"].reembedded, kinds["image"].kept) == (1, 0)

    def test_estimates_by_their_number(self, gallery, hang, settings, tmp_path, monkeypatch):
        monkeypatch.setattr("indexing.estimates.SAMPLE_SIZE", 1)
        for colour in ("red", "green", "blue"):
            hang(draw(colour))
        settings.STRATA_SPECS_DIR = tmp_path / "specs"
        settings.STRATA_SPECS_DIR.mkdir()
        (tmp_path / "specs" / "gallery.yaml").write_text("images: {dimension: 512}\n")

        estimate = estimate_build("gallery")

        assert estimate.is_estimate
        assert estimate.kinds["image"].reembedded == 3
