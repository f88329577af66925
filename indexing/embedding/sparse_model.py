"""Learned sparse models through fastembed: they give the terms of a text, and related ones, weights
that were learned instead of counted."""

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from core.import_lock import import_lock
from core.stages import describe, stage
from indexing.exceptions import ModelUnavailable
from indexing.model_loading import ModelLoader

# SPLADE computes a number for each token and each word that it knows, and fastembed copies them:
# 200 MB for a text of 250 tokens, 600 MB for four such texts, which are no faster together.
TEXTS_PER_CALL: Final = 1

Terms = tuple[list[int], list[float]]  # ids with their weights


class SparseModel:
    """Encodes texts by a learned model of fastembed's. Thread-safe."""

    def __init__(self, name: str, model: Any) -> None:
        self._name = name
        self._model = model

    def encode_documents(self, texts: Sequence[str]) -> list[Terms]:
        return self._encode(self._model.embed(texts, batch_size=TEXTS_PER_CALL), len(texts))

    def encode_query(self, text: str) -> Terms:
        [terms] = self._encode(self._model.query_embed(text), 1)
        return terms

    def _encode(self, embedded: Iterable[Any], text_count: int) -> list[Terms]:
        """``embedded`` is a generator: the model runs here."""
        with stage("embedding_model", "EMBEDDING"):
            describe({"embedding.model_name": self._name, "strata.text_count": text_count})
            return [(each.indices.tolist(), each.values.tolist()) for each in embedded]


_loaders: dict[str, ModelLoader[SparseModel]] = {}
_loaders_lock = threading.Lock()  # never held while loading


def get_sparse_model_loader(name: str) -> ModelLoader[SparseModel]:
    """The process's loader of a model; its ``get`` raises as ``get_embedder``."""
    with _loaders_lock:
        if name not in _loaders:
            _loaders[name] = ModelLoader(f"The sparse model {name}", partial(_load, name))
        return _loaders[name]


def _load(name: str) -> SparseModel:
    with import_lock:
        from fastembed import SparseTextEmbedding
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    try:
        model = SparseTextEmbedding(
            name, cache_dir=str(cache), threads=settings.STRATA_EMBEDDING_THREADS
        )
    except (OSError, ValueError) as error:  # fastembed raises these if it cannot reach the hub
        raise ModelUnavailable(
            f"{name} could not be fetched: {error}",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a machine that has "
            "the model; it is retried automatically. BM25 needs no model: leave sparse.model out.",
        ) from error
    return SparseModel(name, model)
