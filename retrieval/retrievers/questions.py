"""Retriever of chunks by the questions they answer."""

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.nodes import to_passage_nodes
from retrieval.retrievers.ranked import RankedRetriever
from retrieval.search import SearchAnswer
from retrieval.search.flat import search_nodes

_QUESTIONS_PER_CHUNK = 3  # questions fetched for each wanted chunk: they rank close together


class QuestionRetriever(RankedRetriever):
    """The chunks whose questions are nearest to a query, each once, best first.

    ``top_k`` and ``offset`` count chunks. A node is the chunk, with the question that found it and
    its declared fields in the metadata.
    """

    def search(self, query: str) -> SearchAnswer:
        return search_nodes(
            self.make_request(query),
            ["question"],
            self.grant,
            group_key=lambda found: (found.target.build_id, found.point.payload.get("chunk_id")),
            points_per_hit=_QUESTIONS_PER_CHUNK,
        )

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return to_passage_nodes([(hit, hit.score) for hit in answer.hits])
