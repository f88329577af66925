"""Retriever of one index's passages by several queries at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle

from indexing.models import IndexBuild
from retrieval.fusion import RRF_K, reciprocal_rank_fusion
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_asked_chunk_node, to_chunk_node
from retrieval.search import (
    Hit,
    MultiQueryAnswer,
    MultiQueryRequest,
    StaleHitPolicy,
    search_by_queries,
)


class QueriesRetriever(IndexRetriever):
    """Retrieves the best passages for any of a bundle's queries, each once, best first.

    ``QueryBundle(query, custom_embedding_strs=[...])`` gives the queries, which are embedded in
    one batch; a plain string is one query. Each query's ranking is hybrid, ``top_k`` times
    ``multiplier`` deep; scores are the reciprocal ranks of those rankings, fused.
    """

    def __init__(
        self,
        index: str | IndexBuild,
        *,
        top_k: int = 10,
        multiplier: int = 5,
        filter: Mapping[str, Any] | None = None,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
    ) -> None:
        super().__init__(index, top_k=top_k, filter=filter, stale=stale)
        self.multiplier = multiplier

    def search(self, queries: Sequence[str]) -> MultiQueryAnswer:
        """A ranking for each query; raises as ``retrieval.search.search_queries``."""
        return search_by_queries(
            MultiQueryRequest(
                index=self.index,
                queries=queries,
                limit=self.top_k * self.multiplier,
                filter=self.filter,
                stale=self.stale,
            )
        )

    def find(self, query: str) -> list[NodeWithScore]:
        return self._find_by_queries([query])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._find_by_queries(query_bundle.embedding_strs)

    def _find_by_queries(self, queries: Sequence[str]) -> list[NodeWithScore]:
        rankings = self.search(queries).rankings
        hits: dict[str, Hit] = {}
        for ranking in rankings:
            for measured in ranking:
                hits.setdefault(measured.hit.passage_id, measured.hit)
        ids = [[measured.hit.passage_id for measured in ranking] for ranking in rankings]
        fused = reciprocal_rank_fusion(ids, k=RRF_K)[: self.top_k]
        neighbours = find_neighbour_ids(self.index, [hits[id] for id, _ in fused])
        return [
            NodeWithScore(
                node=(
                    to_asked_chunk_node if hits[id].payload["kind"] == "question" else to_chunk_node
                )(hits[id], neighbours),
                score=score,
            )
            for id, score in fused
        ]
