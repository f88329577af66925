"""The base of the retrievers that rank nodes."""

from typing import Any

from retrieval.retrievers.base import ModeRetriever
from retrieval.search import SearchAnswer, SearchRequest


class RankedRetriever(ModeRetriever[SearchAnswer]):
    """Ranks the nodes of a kind, each with its verdict.

    Scores are fused reciprocal ranks (hybrid), cosines (dense) or BM25 (sparse), comparable only
    within one mode; cosines of indexes with different models are replaced by reciprocal ranks.
    """

    def __init__(
        self,
        index: Any,
        *,
        offset: int = 0,
        min_score: float | None = None,
        with_similarity: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(index, **options)
        self.offset = offset
        self.min_score = min_score
        self.with_similarity = with_similarity

    def make_request(self, query: str) -> SearchRequest:
        return SearchRequest(
            indexes=self.indexes,
            query=query,
            mode=self.mode,
            limit=self.top_k,
            offset=self.offset,
            filter=self.filter,
            min_score=self.min_score,
            verify=self.verify,
            explain=self.explain,
            stale=self.stale,
            min_revision=self.min_revision,
            with_similarity=self.with_similarity,
        )
