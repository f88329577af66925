"""LlamaIndex's vector store over a live collection."""

import pytest
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from core.exceptions import InvalidInput, UnknownIndex
from indexing.stores import close_store, get_store
from indexing.stores.qdrant import QdrantStore
from retrieval.retrievers.vector_store import open_vector_store
from tests.factories import give, sync

GRANITE = "Granite cools slowly under the ground."


@pytest.fixture
def in_qdrant(settings, store):
    """Use the store of the Qdrant client."""
    if not isinstance(store, QdrantStore):
        close_store()
        settings.STRATA_VECTOR_STORE = "memory"
        assert isinstance(get_store(), QdrantStore)


class TestOpenVectorStore:
    @pytest.mark.parametrize("mode", [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID])
    def test_searches_by_vectors_and_by_words(self, in_qdrant, build, embedder, mode):
        sync(build, give(GRANITE), give("The heron nests near water."))

        result = open_vector_store("plain").query(
            VectorStoreQuery(
                query_embedding=embedder.embed_query("granite").tolist(),
                query_str="granite",
                similarity_top_k=1,
                mode=mode,
            )
        )

        assert [node.text for node in result.nodes] == [GRANITE]

    def test_refuses_the_embedded_engine(self, build, store):
        if isinstance(store, QdrantStore):
            pytest.skip("these settings name a Qdrant server")

        with pytest.raises(InvalidInput, match="embedded vector store"):
            open_vector_store("plain")

    def test_refuses_an_unknown_index(self, build):
        with pytest.raises(UnknownIndex, match="plian"):
            open_vector_store("plian")
