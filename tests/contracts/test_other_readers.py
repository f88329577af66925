"""The Qdrant stores of LlamaIndex and Haystack can read the points that Strata writes."""

import uuid
from dataclasses import replace

import numpy as np
import pytest
from qdrant_client import QdrantClient

from indexing.stores import CollectionSchema, Point, SparseVector
from indexing.stores.qdrant import QdrantStore

NAME = "library.page_embeddings"
FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture
def client():
    client = QdrantClient(":memory:")
    store = QdrantStore(client, is_in_memory=True)
    store.ensure_collection(NAME, CollectionSchema(3, {"year": "integer"}))
    store.upsert(
        NAME,
        [
            Point(
                FIRST,
                np.array([1, 0, 0], dtype=np.float32),
                SparseVector([11, 12], [1.0, 0.5]),
                {"text": "NadD binds SACC-111.", "year": 2019, "artifact_title": "NadD 東京"},
            ),
            Point(
                SECOND,
                np.array([0, 1, 0], dtype=np.float32),
                SparseVector([13], [1.0]),
                {"text": "Hip flexors at rest.", "year": 2021, "artifact_title": "Anatomy"},
            ),
        ],
    )
    yield client
    client.close()


class TestLlamaIndex:
    @pytest.fixture
    def vector_store(self, client):
        from llama_index.vector_stores.qdrant import QdrantVectorStore

        return QdrantVectorStore(
            collection_name=NAME,
            client=client,
            dense_vector_name="dense",
            sparse_vector_name="sparse",
            text_key="text",
        )

    def test_finds_by_embedding(self, vector_store):
        from llama_index.core.vector_stores import VectorStoreQuery

        result = vector_store.query(
            VectorStoreQuery(query_embedding=[1.0, 0.1, 0.0], similarity_top_k=1)
        )

        assert result.ids == [str(FIRST)]
        [node] = result.nodes
        assert node.text == "NadD binds SACC-111."
        assert node.metadata["year"] == 2019
        assert node.metadata["artifact_title"] == "NadD 東京"

    def test_filters_by_metadata(self, vector_store):
        from llama_index.core.vector_stores import (
            FilterOperator,
            MetadataFilter,
            MetadataFilters,
            VectorStoreQuery,
        )

        since = MetadataFilter(key="year", value=2020, operator=FilterOperator.GTE)
        result = vector_store.query(
            VectorStoreQuery(
                query_embedding=[1.0, 0.0, 0.0],
                similarity_top_k=5,
                filters=MetadataFilters(filters=[since]),
            )
        )

        assert result.ids == [str(SECOND)]

    def test_gets_nodes_by_id(self, vector_store):
        [node] = vector_store.get_nodes(node_ids=[str(SECOND)])

        assert node.text == "Hip flexors at rest."


def with_content(documents):
    """Haystack keeps the text in ``content``, Strata in ``text``."""
    return [replace(document, content=document.meta["text"]) for document in documents]


class TestHaystack:
    @pytest.fixture
    def document_store(self, client, monkeypatch):
        """Haystack's vector names are constants, which a reader of Strata's points must change."""
        from haystack_integrations.document_stores.qdrant import (
            QdrantDocumentStore,
            converters,
            document_store,
        )

        for module in (converters, document_store):
            monkeypatch.setattr(module, "DENSE_VECTORS_NAME", "dense")
            monkeypatch.setattr(module, "SPARSE_VECTORS_NAME", "sparse")
        store = QdrantDocumentStore(
            location=":memory:", index=NAME, embedding_dim=3, use_sparse_embeddings=True
        )
        store._client = client  # an in-memory client can only be shared as an object
        return store

    def test_reads_documents_with_their_metadata(self, document_store):
        documents = with_content(document_store.filter_documents())

        assert [document.content for document in documents] == [
            "NadD binds SACC-111.",
            "Hip flexors at rest.",
        ]
        assert documents[0].meta == {
            "text": "NadD binds SACC-111.",
            "year": 2019,
            "artifact_title": "NadD 東京",
        }
        assert document_store.count_documents() == 2

    def test_filters_by_a_field_named_without_meta(self, document_store):
        since = {"field": "year", "operator": ">=", "value": 2020}

        [document] = with_content(document_store.filter_documents(since))

        assert document.content == "Hip flexors at rest."

    def test_finds_by_embedding(self, document_store):
        found = document_store._query_by_embedding([0.0, 1.0, 0.1], top_k=1)
        [document] = with_content(found)

        assert document.content == "Hip flexors at rest."
        assert document.score == pytest.approx(0.995, abs=1e-3)

    def test_finds_by_terms(self, document_store):
        from haystack.dataclasses import SparseEmbedding

        query = SparseEmbedding(indices=[12], values=[1.0])
        [document] = with_content(document_store._query_by_sparse(query, top_k=5))

        assert document.content == "NadD binds SACC-111."


def test_a_text_is_stored_once(client):
    [record] = client.retrieve(NAME, [str(FIRST)])

    assert set(record.payload) == {"text", "year", "artifact_title"}
