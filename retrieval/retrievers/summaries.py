"""Retriever of summaries."""

from typing import Any

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.nodes import to_summary_node
from retrieval.retrievers.ranked import RankedRetriever
from retrieval.search import SearchAnswer, SummaryType
from retrieval.search.flat import search_nodes


class SummaryRetriever(RankedRetriever):
    """The summaries of pages, artifacts or both that answer a query best, best first."""

    def __init__(
        self, index: Any, *, type: SummaryType | str = SummaryType.ALL, **options: Any
    ) -> None:
        super().__init__(index, **options)
        self.type = SummaryType(type)

    def search(self, query: str) -> SearchAnswer:
        return search_nodes(self.make_request(query), self.type.kinds, self.grant)

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return [NodeWithScore(node=to_summary_node(hit), score=hit.score) for hit in answer.hits]
