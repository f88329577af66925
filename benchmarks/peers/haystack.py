"""A Haystack indexing pipeline: an embedder, then a ``DocumentWriter`` that overwrites.

It follows "DocumentWriter" at docs.haystack.deepset.ai. The documents have their own ids; otherwise
an edited document would be a new one.
"""

import argparse
from pathlib import Path

import httpx
from haystack import Document, Pipeline, component
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from benchmarks.peers.corpus import read_documents
from benchmarks.peers.endpoint import DIMENSION

BATCH = 32  # the default of Haystack's own embedders


@component
class EndpointEmbedder:
    def __init__(self, url: str, model: str) -> None:
        self.url = url
        self.model = model

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        for start in range(0, len(documents), BATCH):
            part = documents[start : start + BATCH]
            asked = {"model": self.model, "input": [document.content for document in part]}
            answer = httpx.post(f"{self.url}/embeddings", json=asked, timeout=60, trust_env=False)
            rows = answer.raise_for_status().json()["data"]
            for document, row in zip(part, rows, strict=True):
                document.embedding = row["embedding"]
        return {"documents": documents}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--qdrant", "--endpoint", "--model", "--delete"):
        parser.add_argument(name)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()

    store = QdrantDocumentStore(
        url=given.qdrant, index="peer", embedding_dim=DIMENSION, progress_bar=False
    )
    if given.delete:
        store.delete_documents([given.delete])
        return
    pipeline = Pipeline()
    pipeline.add_component("embedder", EndpointEmbedder(given.endpoint, given.model))
    pipeline.add_component("writer", DocumentWriter(store, policy=DuplicatePolicy.OVERWRITE))
    pipeline.connect("embedder", "writer")
    documents = [
        Document(id=document.name, content=document.text)
        for document in read_documents(given.folder / "documents.json")
    ]
    pipeline.run({"embedder": {"documents": documents}})


if __name__ == "__main__":
    main()
