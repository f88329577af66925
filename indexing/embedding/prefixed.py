"""LlamaIndex's view of an embedder whose spec declares prefixes."""

from typing import TYPE_CHECKING

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

if TYPE_CHECKING:
    from indexing.embedding.embedder import Embedder


class PrefixedEmbedding(BaseEmbedding):
    """Embeds as the embedder does, so that no prefix is forgotten on the way."""

    _embedder: "Embedder" = PrivateAttr()

    def __init__(self, embedder: "Embedder") -> None:
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
