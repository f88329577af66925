"""Fixtures every part of the suite shares."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from indexing import embedding
from indexing.models import IndexBuild
from indexing.services import sync_indexes
from indexing.spec import EmbeddingSpec
from indexing.stores import close_store, get_store

MEMORY = Path("/dev/shm")  # where Linux keeps files in memory
NEEDED_BYTES = 4 * 2**30

# What tests write is thrown away, yet the engine waits for the disk each time it makes a
# collection: most of the suite's time, where the folder of temporary files lies on one.
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free >= NEEDED_BYTES
):
    tempfile.tempdir = str(MEMORY)


class HashingEmbedder:
    """A bag of hashed words: deterministic, instant, and near where words are shared."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        self.spec = spec
        self.embedded: list[str] = []  # every document text, in the order it came

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 2 for text in texts]

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.spec.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.strip(".,;:!?").encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.spec.dimension] += 1
        return vector / np.linalg.norm(vector)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashingEmbedder:
    """The model replaced by hashing; remembers what it was asked to embed."""
    fake = HashingEmbedder(EmbeddingSpec())
    monkeypatch.setattr(embedding, "get_embedder", lambda spec: fake)
    return fake


@pytest.fixture
def store(tmp_path, settings) -> Iterator[object]:
    """The embedded engine on an empty folder."""
    close_store()
    settings.STRATA_VECTORS_DIR = tmp_path / "vectors"
    settings.STRATA_FILES_DIR = tmp_path / "files"
    yield get_store()
    close_store()
    shutil.rmtree(tmp_path / "vectors", ignore_errors=True)  # megabytes each; pytest keeps folders


@pytest.fixture
def build(db, store, embedder) -> IndexBuild:
    """The live build of the plain index, empty."""
    sync_indexes()
    return IndexBuild.objects.live().get(index="plain")
