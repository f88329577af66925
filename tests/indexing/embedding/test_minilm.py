import importlib.util
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from indexing.embedding import get_embedder, minilm
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec
from tests.serving import ROOT

# Vectors that sentence-transformers computed from the published weights.
REFERENCE = json.loads((ROOT / "weights" / "reference.json").read_text(encoding="utf-8"))


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A copy of the installed model that a test may damage."""
    folder = tmp_path / minilm.PACKAGE
    shutil.copytree(minilm.find_model(), folder)
    spec = SimpleNamespace(submodule_search_locations=[str(folder)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    return folder


class TestVectors:
    def test_are_those_of_sentence_transformers(self):
        embedder = get_embedder(EmbeddingSpec())

        vectors = [embedder.embed_query(text) for text in REFERENCE["texts"]]

        np.testing.assert_allclose(vectors, REFERENCE["vectors"], atol=1e-5)

    def test_in_int8_are_close_to_them(self):
        embedder = get_embedder(EmbeddingSpec(precision="int8"))

        vectors = np.array([embedder.embed_query(text) for text in REFERENCE["texts"]])

        cosines = (vectors * np.array(REFERENCE["vectors"])).sum(axis=1)
        assert 0.99 <= cosines.min() < 0.9999  # int8, and not float32


class TestFindModel:
    def test_names_what_to_install_when_the_package_is_missing(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

        with pytest.raises(ModelUnavailable, match="not installed") as caught:
            minilm.find_model()

        assert "strata-rag-weights" in caught.value.fix

    def test_accepts_an_intact_copy(self, package):
        assert minilm.find_model() == package

    @pytest.mark.parametrize("name", ["tokenizer.json", minilm.HASHES])
    def test_names_a_file_that_is_missing(self, package, name):
        (package / name).unlink()

        with pytest.raises(ModelUnavailable, match=f"{name} is missing") as caught:
            minilm.find_model()

        assert caught.value.fix == minilm.INSTALL

    @pytest.mark.parametrize("name", ["model.tensors", "tokenizer.json", minilm.HASHES])
    def test_names_a_file_that_is_damaged(self, package, name):
        with (package / name).open("r+b") as file:
            file.write(b"\0\0\0\x01")

        with pytest.raises(ModelUnavailable, match=f"{name} is damaged"):
            minilm.find_model()
