"""Pictures, and a small pair of models that embeds their colours, loaded by fastembed."""

from functools import partial

import fastembed
import pytest

from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact
from indexing import embedding
from indexing.embedding import embedder as embedders
from indexing.embedding import get_embedder
from spaces import clip_model
from tests.clients import client_with_key
from tests.clip import DIMENSION, write_pair
from tests.factories import sync
from tests.written import make_build


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("clip"))


@pytest.fixture
def clip(pair, monkeypatch):
    use_small_models(pair, monkeypatch)


def use_small_models(pair, monkeypatch):
    """Make fastembed's classes load the small pair of models instead of a downloaded one."""
    vision, text = map(str, pair)

    class Vision(fastembed.ImageEmbedding):
        def __init__(self, name, **options):
            super().__init__(name, specific_model_path=vision, **options)

    class Text(fastembed.TextEmbedding):
        def __init__(self, name, **options):
            super().__init__(name, specific_model_path=text, **options)

    monkeypatch.setattr(clip_model, "ImageEmbedding", Vision)
    monkeypatch.setattr(clip_model, "TextEmbedding", Text)
    monkeypatch.setattr(embedders, "_loaders", {})
    monkeypatch.setattr(embedders, "_embedders", {})


@pytest.fixture
def gallery(db, store, embedder, pair, monkeypatch):
    return make_gallery(pair, monkeypatch)


def make_gallery(pair, monkeypatch):
    """The empty live build of an index that accepts pictures; texts are embedded as before."""
    use_small_models(pair, monkeypatch)
    embed_text = embedding.get_embedder
    monkeypatch.setattr(
        embedding,
        "get_embedder",
        lambda spec: get_embedder(spec) if spec.provider == "clip" else embed_text(spec),
    )
    return make_build(
        "gallery",
        images={"dimension": DIMENSION},
        metadata={"year": {"type": "integer"}},
    )


@pytest.fixture
def add_picture(gallery):
    return partial(hang_picture, gallery)


def hang_picture(gallery, content, name="picture.png", **given):
    """Add a file to the gallery, parse it and sync it."""
    artifact, _ = add_artifact("gallery", save_incoming_file(name, [content]), **given)
    parse_artifact(artifact.pk)
    artifact.refresh_from_db()
    sync(gallery, artifact)
    return artifact


@pytest.fixture
def client(db):
    return client_with_key()
