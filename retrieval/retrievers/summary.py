"""Retriever of one index's summaries as LlamaIndex nodes."""

from typing import Any

from llama_index.core.schema import NodeWithScore

from indexing.models import IndexBuild
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import to_summary_node
from retrieval.search import SummaryType, search_summaries


class SummaryRetriever(IndexRetriever):
    """The summaries of pages, artifacts or both that answer a query best, best first."""

    def __init__(
        self, index: str | IndexBuild, *, type: SummaryType | str = SummaryType.ALL, **options: Any
    ) -> None:
        super().__init__(index, **options)
        self.type = SummaryType(type)

    def find(self, query: str) -> list[NodeWithScore]:
        hits = search_summaries(self.make_request(query), self.type).hits
        return [NodeWithScore(node=to_summary_node(hit), score=hit.score) for hit in hits]
