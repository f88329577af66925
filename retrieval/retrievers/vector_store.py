"""The live collections of an index as LlamaIndex vector stores."""

from typing import TYPE_CHECKING

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from indexing.kinds import KINDS
from indexing.sparse_vectors import encode_sparse_query
from indexing.stores import get_store
from indexing.stores.qdrant import QdrantStore
from retrieval.search.targets import find_builds, make_targets

if TYPE_CHECKING:
    from llama_index.vector_stores.qdrant import QdrantVectorStore


def open_vector_store(
    index: str, kind: str = "chunk", *, grant: Grant = EVERYTHING
) -> "QdrantVectorStore":
    """Open the collection that holds the nodes of ``kind`` in the live build of an index.

    Use it only to read vectors: hits are not verified, kinds that share a collection are not
    distinguished, and the ledger does not record writes. Hybrid queries encode words as the index
    did. Requires a Qdrant server.

    Raises:
        UnknownIndex: lists the known names.
        InvalidInput: the grant does not include all documents, the index has no live build or no
            such nodes, or the vectors are not in a Qdrant server.
    """
    if not grant.sees_all_documents:
        raise InvalidInput(
            "LlamaIndex's vector store reads every document of an index, and the grant does not "
            "include them all.",
            fix="Search with a retriever of retrieval.retrievers.",
        )
    store = get_store()
    targets = make_targets(find_builds([index], grant).values(), (kind,))
    if not targets:
        raise InvalidInput(f"The index {index} has no live build.", field="index")
    if not isinstance(store, QdrantStore):
        raise InvalidInput(
            "LlamaIndex's vector store reads from a Qdrant server, and the vectors of this index "
            "are in the embedded vector store.",
            fix="Search with a retriever of retrieval.retrievers, or run it on servers.",
        )
    sparse = targets[0].spec.sparse

    def encode_queries(texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
        vectors = [encode_sparse_query(sparse, text) for text in texts]
        return [vector.indices for vector in vectors], [vector.values for vector in vectors]

    return store.open_llama_index(targets[0].collection, KINDS[kind].text_field, encode_queries)
