"""Retriever of chunks by the questions they answer."""

from collections.abc import Hashable
from functools import partial

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.nodes import to_passage_nodes
from retrieval.retrievers.ranked import RankedRetriever
from retrieval.search import SearchAnswer
from retrieval.search.flat import keep_best_of_each, search_nodes
from retrieval.search.targets import Candidate

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
            keep_distinct=partial(keep_best_of_each, group_key=_get_chunk_key),
            points_per_hit=_QUESTIONS_PER_CHUNK,
        )

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return to_passage_nodes([(hit, hit.score) for hit in answer.hits])


def _get_chunk_key(candidate: Candidate) -> Hashable:
    return candidate.target.build_id, candidate.point.payload.get("chunk_id")
