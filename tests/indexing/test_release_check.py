"""What a release that indexes otherwise is noticed by: ten breaks, and ten upgrades without one."""

import json
import random
import uuid

import numpy as np
import pytest
from django.core.management.base import CommandError

from config import release
from config.release import require_same_indexing
from indexing import embedding
from indexing.drafting import drafter
from indexing.exceptions import EmbeddingUnavailable
from indexing.services import rows, syncing
from indexing.stores.sparse import Bm25Encoder
from indexing.verification import find_release_differences
from tests.factories import give, sync
from tests.hashing import HashingEmbedder

pytestmark = pytest.mark.django_db

WORDS = ["buoy", "swell", "tide", "gull", "lantern", "reef", "harbour", "fog", "rope", "kettle"]


def write_text(seed: int) -> str:
    words = random.Random(seed)
    paragraphs = [" ".join(words.choices(WORDS, k=30)) + f" {seed * 10 + n}." for n in range(5)]
    return "\n\n".join(paragraphs)


@pytest.fixture
def indexed(build):
    sync(build, *(give(write_text(seed)) for seed in range(8)))
    return build


@pytest.mark.parametrize("seed", range(10))
def test_the_same_code_finds_nothing(build, seed):
    sync(build, *(give(write_text(seed * 100 + n), title=f"Log {n}") for n in range(seed % 4 + 1)))

    assert find_release_differences(build) == []


class Changed(HashingEmbedder):
    def _vector(self, text):
        return super()._vector(" ".join(word[::-1] for word in text.split()))


class Scaled(HashingEmbedder):
    def _vector(self, text):
        return super()._vector(text) * 2


class Prefixed(HashingEmbedder):
    """Queries are embedded otherwise than documents."""

    def embed_query(self, text):
        return super().embed_query(text[::-1])


class Noisy(HashingEmbedder):
    """As a quantized model without its scales."""

    def _vector(self, text):
        vector = super()._vector(text)
        noise = np.random.default_rng(len(text)).normal(0, 0.02, vector.shape)
        return (vector + noise).astype(np.float32)


def use_embedder(monkeypatch, kind):
    fake = kind(embedding.get_embedder(None).spec)
    monkeypatch.setattr(embedding, "get_embedder", lambda spec: fake)


def patch_encoder(monkeypatch, name, change):
    encode = getattr(Bm25Encoder, name)
    monkeypatch.setattr(Bm25Encoder, name, lambda self, text: encode(self, change(text)))


def change_ids(monkeypatch):
    make = uuid.uuid5
    monkeypatch.setattr(uuid, "uuid5", lambda namespace, name: make(namespace, f"v2 {name}"))


def change_payload(module, monkeypatch):
    make = module.make_payload
    monkeypatch.setattr(module, "make_payload", lambda node: {**make(node), "extra": 1})


BREAKS = {
    "vectors": lambda m: use_embedder(m, Changed),
    "vectors, normalisation": lambda m: use_embedder(m, Scaled),
    "vectors, runtime": lambda m: use_embedder(m, Noisy),
    "meaning": lambda m: use_embedder(m, Prefixed),
    "keywords": lambda m: patch_encoder(m, "encode_document", lambda text: text[:40]),
    "words": lambda m: patch_encoder(m, "encode_query", lambda text: text[::-1]),
    "payloads": lambda m: change_payload(syncing, m),
    "documents, payload": lambda m: change_payload(rows, m),
    "documents, ids": change_ids,
    "documents, hashes": lambda m: m.setattr(drafter, "hash_text", lambda text: "0" * 64),
}


@pytest.mark.parametrize("name", BREAKS)
def test_other_code_is_noticed(indexed, monkeypatch, name):
    BREAKS[name](monkeypatch)

    found = find_release_differences(indexed)

    assert any(name.partition(",")[0] in difference for difference in found), found


class TestRequireSameIndexing:
    @pytest.fixture(autouse=True)
    def data_folder(self, settings, tmp_path):
        settings.STRATA_DATA_DIR = tmp_path
        return tmp_path

    def test_opens_a_folder_without_documents(self, build, data_folder, settings):
        assert require_same_indexing() == []

        served = json.loads((data_folder / "release").read_text())
        assert served["strata"] == settings.STRATA_RELEASE
        assert "onnxruntime" in served

    def test_stays_closed_until_it_is_forced(self, indexed, monkeypatch, data_folder):
        use_embedder(monkeypatch, Changed)

        for _ in range(2):
            with pytest.raises(CommandError, match=r"plain #1: .* would get other vectors"):
                require_same_indexing()
        require_same_indexing(is_forced=True)

        assert require_same_indexing() == []

    def test_remembers_that_it_was_forced_though_a_build_could_not_be_compared(
        self, indexed, monkeypatch
    ):
        def fail(build):
            raise EmbeddingUnavailable("The endpoint does not answer.")

        monkeypatch.setattr(release, "find_release_differences", fail)

        assert len(require_same_indexing(is_forced=True)) == 1
        assert require_same_indexing() == []

    def test_compares_once_for_each_release(self, indexed, monkeypatch, settings):
        require_same_indexing()
        compared = []
        monkeypatch.setattr(
            release, "find_release_differences", lambda build: compared.append(build) or []
        )

        require_same_indexing()
        assert compared == []
        settings.STRATA_RELEASE = "99.0.0"
        require_same_indexing()
        require_same_indexing()

        assert compared == [indexed]

    def test_opens_and_compares_again_if_it_cannot_compare(self, indexed, monkeypatch):
        def fail(build):
            raise EmbeddingUnavailable("The endpoint does not answer.")

        monkeypatch.setattr(release, "find_release_differences", fail)

        for _ in range(2):
            [note] = require_same_indexing()
            assert note.startswith("plain #1 could not be compared with this release")
