"""``Embedder``: prefixes, batches and dimension checks around any provider's model."""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from django.utils.module_loading import import_string

from core.exceptions import StrataError
from core.import_lock import import_lock
from core.stages import describe, stage
from indexing.embedding import minilm
from indexing.embedding.vectors import Vectors
from indexing.exceptions import EmbeddingMismatch, InvalidSpec
from indexing.model_loading import ModelLoader, waiting_for_models
from indexing.providers import PROVIDERS
from indexing.spec import EmbeddingSpec

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding


class LoadedModel(Protocol):
    """A provider's loaded model; its methods may run in several threads at once."""

    batch_texts: int  # most texts of one call
    batch_tokens: int  # most tokens of one call, padding included; one text may exceed it

    def embed_batch(self, texts: list[str]) -> Vectors:
        """(texts, dimension), in the given order; one call of the runtime or provider."""
        ...

    def embed_queries(self, texts: list[str]) -> Vectors:
        """As ``embed_batch``, for queries."""
        ...

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Special tokens included, not truncated."""
        ...


class Embedder:
    """Embeds texts by one embedding spec. Thread-safe: share one instance.

    Raises ``EmbeddingUnavailable`` if the provider does not answer (retry helps) and
    ``ModelUnavailable`` if the model cannot be used as the spec requires. Errors of the runtime
    about a text are not translated.

    With ``precision: int8`` the third decimal of a vector depends on the other texts of its batch,
    because the activations of a batch are scaled together.
    """

    def __init__(self, spec: EmbeddingSpec, model: LoadedModel) -> None:
        self.spec = spec
        self._model = model

    @property
    def llama_index(self) -> "BaseEmbedding":
        """This embedder as a LlamaIndex embedding. Raises ``InvalidSpec``: the model embeds no
        texts."""
        if PROVIDERS[self.spec.provider].embeds:
            raise InvalidSpec(
                f"{self.spec.model} cannot be used in LlamaIndex: it embeds no texts."
            )
        from indexing.embedding.llama_index import LlamaIndexEmbedding

        return LlamaIndexEmbedding(self)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimension), in the given order.

        A batch is padded to its longest text, so texts of similar length are batched together.

        Raises:
            EmbeddingUnavailable: the provider did not answer; safe to retry.
            EmbeddingMismatch: the vectors do not have the spec's dimension.
        """
        texts = [self.spec.document_prefix + text for text in texts]
        return self._embed(texts, self._model.embed_batch)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimension), in the given order; raises as ``embed_documents``."""
        texts = [self.spec.query_prefix + text for text in texts]
        return self._embed(texts, self._model.embed_queries)

    def embed_query(self, text: str) -> Vectors:
        """(dimension,); raises as ``embed_documents``."""
        with self._stage(1):
            vectors = self._model.embed_queries([self.spec.query_prefix + text])
        self._check_dimension(vectors)
        return np.asarray(vectors[0])

    async def aembed_documents(self, texts: Sequence[str]) -> Vectors:
        """``embed_documents`` off the event loop."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> Vectors:
        """``embed_query`` off the event loop."""
        return await asyncio.to_thread(self.embed_query, text)

    def count_tokens(self, texts: Sequence[str], *, as_queries: bool = False) -> list[int]:
        """Count each text's tokens as a document or a query: with prefix and special tokens, not
        truncated."""
        prefix = self.spec.query_prefix if as_queries else self.spec.document_prefix
        return self._model.count_tokens([prefix + text for text in texts])

    def _embed(self, texts: list[str], embed_batch: Callable[[list[str]], Vectors]) -> Vectors:
        vectors = np.empty((len(texts), self.spec.dimension), np.float32)
        with self._stage(len(texts)):
            for rows in self._split_into_batches(texts):
                batch = embed_batch([texts[row] for row in rows])
                self._check_dimension(batch)
                vectors[rows] = batch
        return vectors

    @contextmanager
    def _stage(self, text_count: int) -> Iterator[None]:
        with stage("embedding_model", "EMBEDDING"):
            describe({"embedding.model_name": self.spec.model, "strata.text_count": text_count})
            yield

    def _split_into_batches(self, texts: list[str]) -> Iterator[list[int]]:
        """Yield batches of positions in ``texts``, shortest texts first."""
        window = self.spec.window
        lengths = [min(length, window) for length in self._model.count_tokens(texts)]
        rows: list[int] = []
        for row in sorted(range(len(texts)), key=lengths.__getitem__):
            # Texts are sorted, so this one is the longest and the whole batch is padded to it.
            tokens = lengths[row] * (len(rows) + 1)
            if rows and (len(rows) == self._model.batch_texts or tokens > self._model.batch_tokens):
                yield rows
                rows = []
            rows.append(row)
        if rows:
            yield rows

    def _check_dimension(self, vectors: Vectors) -> None:
        if vectors.shape[-1] != self.spec.dimension:
            raise EmbeddingMismatch(
                f"{self.spec.model} returns vectors of {vectors.shape[-1]} dimensions, but "
                f"embedding.dimension is {self.spec.dimension}.",
                field="embedding.dimension",
                fix=f"Set embedding.dimension to {vectors.shape[-1]}.",
            )


_embedders: dict[EmbeddingSpec, Embedder] = {}
_loaders: dict[EmbeddingSpec, ModelLoader[LoadedModel]] = {}
_loaders_lock = threading.Lock()  # never held while loading


def get_embedder(spec: EmbeddingSpec) -> Embedder:
    """The process's embedder for ``spec``; the first call loads the model (seconds).

    Specs that differ only in their prefixes share one model. Never call it before a fork: the
    runtime's threads do not survive one.

    Raises:
        ModelLoading: it is not loaded yet; retry helps.
        ModelUnavailable: the model is unknown, or its files or package are missing. It is tried
            again in the background.
        InvalidSpec: the model does not support a setting of the spec.
    """
    embedder = _embedders.get(spec)
    if embedder is None:
        embedder = _embedders.setdefault(spec, Embedder(spec, _get_loader(spec).get()))
    return embedder


def load_models(specs: Collection[EmbeddingSpec], seconds: float) -> list[StrataError]:
    """Load models in parallel for at most ``seconds``; return the errors of those not loaded."""
    deadline = time.monotonic() + seconds
    for spec in specs:
        _get_loader(spec).start()
    errors = []
    for spec in specs:
        try:
            with waiting_for_models(max(0.0, deadline - time.monotonic())):
                get_embedder(spec)
        except StrataError as error:
            errors.append(error)
    return errors


def import_libraries() -> None:
    """Import what the default provider needs, without loading a model: safe before a fork."""
    _import_provider(EmbeddingSpec().provider)


def _get_loader(spec: EmbeddingSpec) -> ModelLoader[LoadedModel]:
    spec_without_prefixes = spec.model_copy(update={"document_prefix": "", "query_prefix": ""})
    is_installed = spec.model in minilm.NAMES or not PROVIDERS[spec.provider].fetches_files
    with _loaders_lock:
        if spec_without_prefixes not in _loaders:
            _loaders[spec_without_prefixes] = ModelLoader(
                f"The model {spec.model}",
                partial(_load_model, spec_without_prefixes),
                is_installed=is_installed,
            )
        return _loaders[spec_without_prefixes]


def _load_model(spec: EmbeddingSpec) -> LoadedModel:
    with import_lock:  # importing a provider imports its libraries but loads no model
        load = _import_provider(spec.provider)
    return load(spec)


def _import_provider(provider: str) -> Callable[[EmbeddingSpec], LoadedModel]:
    load: Callable[[EmbeddingSpec], LoadedModel] = import_string(PROVIDERS[provider].load)
    return load
