"""The base of the retrievers that rank nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from access.grants import EVERYTHING, Grant
from indexing.models import IndexBuild
from retrieval.retrievers.base import IndexRetriever
from retrieval.search import Mode, SearchAnswer, SearchRequest, StaleHitPolicy


class RankedRetriever(IndexRetriever[SearchAnswer]):
    """Ranks the nodes of a kind, each with its verdict.

    Scores are fused reciprocal ranks (hybrid), cosines (dense) or BM25 (sparse), comparable only
    within one mode; cosines of indexes with different models are replaced by reciprocal ranks.
    ``filter`` has the API's syntax; ``SearchRequest`` describes the other parameters.

    Searching also raises ``NotYetIndexed`` if ``min_revision`` was not reached in time.
    """

    def __init__(
        self,
        index: str | IndexBuild | Sequence[str | IndexBuild],
        *,
        grant: Grant = EVERYTHING,
        mode: Mode | str = Mode.HYBRID,
        top_k: int = 10,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        verify: bool = True,
        explain: bool = False,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
        min_revision: int | None = None,
    ) -> None:
        super().__init__(index, grant=grant)
        self.mode = Mode(mode)
        self.top_k = top_k
        self.offset = offset
        self.filter = filter
        self.min_score = min_score
        self.verify = verify
        self.explain = explain
        self.stale = StaleHitPolicy(stale)
        self.min_revision = min_revision

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
        )
