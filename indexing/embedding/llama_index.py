"""An embedder as LlamaIndex takes it."""

from collections.abc import Sequence
from typing import Protocol

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from indexing.embedding.vectors import Vectors
from indexing.spec import EmbeddingSpec


class EmbedsTexts(Protocol):
    """An ``Embedder``, whose module imports this one."""

    spec: EmbeddingSpec

    def embed_query(self, text: str) -> Vectors: ...
    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...
    async def aembed_query(self, text: str) -> Vectors: ...
    async def aembed_documents(self, texts: Sequence[str]) -> Vectors: ...


class LlamaIndexEmbedding(BaseEmbedding):
    """A LlamaIndex embedding that calls an embedder, which adds the prefixes of its spec."""

    _embedder: EmbedsTexts = PrivateAttr()

    def __init__(self, embedder: EmbedsTexts) -> None:
        super().__init__(model_name=embedder.spec.model)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return (await self._embedder.aembed_query(query)).tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed_documents([text])[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed_documents(texts).tolist()

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return (await self._embedder.aembed_documents(texts)).tolist()
