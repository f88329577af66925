"""LlamaIndex's ``IngestionPipeline`` with a docstore and Qdrant, one run over all documents.

It follows "Ingestion Pipeline + Document Management" at docs.llamaindex.ai: the pipeline is loaded
from its folder if there is one, run, and persisted.
"""

import argparse
from pathlib import Path
from typing import Any

import httpx
from llama_index.core import Document
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from benchmarks.peers.corpus import read_documents


class EndpointEmbedding(BaseEmbedding):
    url: str

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        asked = {"model": self.model_name, "input": texts}
        answer = httpx.post(f"{self.url}/embeddings", json=asked, timeout=60, trust_env=False)
        return [row["embedding"] for row in answer.raise_for_status().json()["data"]]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--qdrant", "--endpoint", "--model", "--strategy", "--delete"):
        parser.add_argument(name)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()

    client = QdrantClient(url=given.qdrant, check_compatibility=False)
    store = QdrantVectorStore(client=client, collection_name="peer")
    if given.delete:
        store.delete(given.delete)
        return
    kept: Path = given.folder / "pipeline"
    pipeline = IngestionPipeline(
        transformations=[
            SentenceSplitter(),
            EndpointEmbedding(model_name=given.model, url=given.endpoint),
        ],
        docstore=SimpleDocumentStore(),
        vector_store=store,
        docstore_strategy=DocstoreStrategy(given.strategy),
    )
    if kept.exists():
        pipeline.load(str(kept))
    documents: list[Any] = [
        Document(id_=document.name, text=document.text)
        for document in read_documents(given.folder / "documents.json")
    ]
    pipeline.run(documents=documents)
    pipeline.persist(str(kept))


if __name__ == "__main__":
    main()
