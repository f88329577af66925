"""Passages of one index, found by several queries at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle

from indexing.models import IndexBuild
from retrieval.fusion import RRF_K, reciprocal_rank_fusion
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_chunk_node, to_parent_node
from retrieval.search import Hit, QueriesAnswer, QueriesRequest, StaleHits, search_queries


class QueriesRetriever(IndexRetriever):
    """The passages that answer any of a bundle's queries best, each once, best first.

    ``QueryBundle(query, custom_embedding_strs=[...])`` says what is searched, all of it in one
    batch; a bare string is searched as it is. Each query's ranking is hybrid, ``top_k`` times
    ``multiplier`` deep; scores are the reciprocal ranks of those rankings, fused.
    """

    def __init__(
        self,
        index: str | IndexBuild,
        *,
        top_k: int = 10,
        multiplier: int = 5,
        filter: Mapping[str, Any] | None = None,
        stale: StaleHits | str = StaleHits.FLAG,
    ) -> None:
        super().__init__(index, top_k=top_k, filter=filter, stale=stale)
        self.multiplier = multiplier

    def search(self, queries: Sequence[str]) -> QueriesAnswer:
        """A ranking for each query; raises as ``retrieval.search.search_queries``."""
        return search_queries(
            QueriesRequest(
                index=self.index,
                queries=queries,
                limit=self.top_k * self.multiplier,
                filter=self.filter,
                stale=self.stale,
            )
        )

    def find(self, query: str) -> list[NodeWithScore]:
        return self._find([query])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._find(query_bundle.embedding_strs)

    def _find(self, queries: Sequence[str]) -> list[NodeWithScore]:
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
                node=(to_parent_node if hits[id].payload["kind"] == "question" else to_chunk_node)(
                    hits[id], neighbours
                ),
                score=score,
            )
            for id, score in fused
        ]
