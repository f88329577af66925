"""Retriever of one index's chunks by the questions they answer."""

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_asked_chunk_node
from retrieval.search import search_questions


class QuestionRetriever(IndexRetriever):
    """The chunks whose questions are nearest to a query, each once, best first.

    A node is the chunk, with the question that found it and its declared fields in the
    metadata.
    """

    def find(self, query: str) -> list[NodeWithScore]:
        hits = search_questions(self.make_request(query)).hits
        neighbours = find_neighbour_ids(self.index, hits)
        return [
            NodeWithScore(node=to_asked_chunk_node(hit, neighbours), score=hit.score)
            for hit in hits
        ]
