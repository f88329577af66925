"""Retriever of one index's chunks as LlamaIndex nodes."""

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_chunk_node
from retrieval.search import search_chunks


class ChunkRetriever(IndexRetriever):
    """The chunks that answer a query best, best first."""

    def find(self, query: str) -> list[NodeWithScore]:
        hits = search_chunks(self.make_request(query)).hits
        neighbours = find_neighbour_ids(self.index, hits)
        return [NodeWithScore(node=to_chunk_node(hit, neighbours), score=hit.score) for hit in hits]
