"""Retriever of passages by several queries at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle

from access.grants import EVERYTHING, Grant
from indexing.models import IndexBuild
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import to_passage_nodes
from retrieval.search import Hit, MultiQueryAnswer, MultiQueryRequest, StaleHitPolicy
from retrieval.search.multi_query import search_by_queries


class QueriesRetriever(IndexRetriever[MultiQueryAnswer]):
    """The best passages for any of several queries, each once, best first.

    ``QueryBundle(query, custom_embedding_strs=[...])`` gives the queries, which are embedded in
    one batch; a plain string is one query. Each query's ranking is hybrid, ``top_k`` times
    ``multiplier`` deep; scores are the reciprocal ranks of those rankings, fused.
    """

    def __init__(
        self,
        index: str | IndexBuild,
        *,
        grant: Grant = EVERYTHING,
        top_k: int = 10,
        multiplier: int = 5,
        filter: Mapping[str, Any] | None = None,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
    ) -> None:
        super().__init__(index, grant=grant)
        self.top_k = top_k
        self.multiplier = multiplier
        self.filter = filter
        self.stale = StaleHitPolicy(stale)

    def search(self, query: str) -> MultiQueryAnswer:
        return self.search_queries([query])

    def search_queries(self, queries: Sequence[str]) -> MultiQueryAnswer:
        """Return a ranking for each query; raises as ``search``."""
        [index] = self.indexes
        request = MultiQueryRequest(
            index=index,
            queries=queries,
            limit=self.top_k * self.multiplier,
            filter=self.filter,
            stale=self.stale,
        )
        return search_by_queries(request, self.grant)

    def to_nodes(self, answer: MultiQueryAnswer) -> list[NodeWithScore]:
        hits: dict[str, Hit] = {}
        for ranking in answer.rankings:
            for measured in ranking:
                hits.setdefault(measured.hit.passage_id, measured.hit)
        ids = [[measured.hit.passage_id for measured in ranking] for ranking in answer.rankings]
        fused = reciprocal_rank_fusion(ids)[: self.top_k]
        return to_passage_nodes([(hits[id], score) for id, score in fused])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.to_nodes(self.search_queries(query_bundle.embedding_strs))
