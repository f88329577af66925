"""Retriever of chunks."""

from collections.abc import Hashable
from functools import partial
from typing import Any

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.nodes import to_passage_nodes
from retrieval.retrievers.ranked import RankedRetriever
from retrieval.search import SearchAnswer
from retrieval.search.flat import drop_repeated_chunks, keep_best_of_each, search_nodes
from retrieval.search.targets import Candidate


class ChunkRetriever(RankedRetriever):
    """The chunks that answer a query best, best first. The same text, cut by several strategies, is
    one hit.

    ``is_one_per_artifact`` keeps only the best chunk of each artifact; ``top_k`` and ``offset``
    then count artifacts.
    """

    def __init__(self, index: Any, *, is_one_per_artifact: bool = False, **options: Any) -> None:
        super().__init__(index, **options)
        self.is_one_per_artifact = is_one_per_artifact

    def search(self, query: str) -> SearchAnswer:
        keep_distinct = (
            keep_best_of_each_artifact if self.is_one_per_artifact else drop_repeated_chunks
        )
        request = self.make_request(query)
        return search_nodes(request, ["chunk"], self.grant, keep_distinct=keep_distinct)

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return to_passage_nodes([(hit, hit.score) for hit in answer.hits])


def _get_artifact_key(candidate: Candidate) -> Hashable:
    return candidate.target.build_id, candidate.point.payload.get("artifact_id")


keep_best_of_each_artifact = partial(keep_best_of_each, group_key=_get_artifact_key)
