"""The base of every retriever."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from indexing.models import IndexBuild
from retrieval.event_loop import run_in_thread
from retrieval.search import Mode, SearchRequest, StaleHitPolicy


class IndexRetriever(BaseRetriever):
    """Retrieves nodes of one index, each with its verdict.

    An index name searches the live build of that moment, an ``IndexBuild`` that very build.
    Scores are fused reciprocal ranks (hybrid), cosines (dense) or BM25 (sparse), comparable only
    within one mode of one index. ``filter`` is as the API takes it.

    Retrieving raises as ``retrieval.search.search_chunks``.
    """

    def __init__(
        self,
        index: str | IndexBuild,
        *,
        mode: Mode | str = Mode.HYBRID,
        top_k: int = 10,
        filter: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
    ) -> None:
        super().__init__()
        self.index = index
        self.mode = Mode(mode)
        self.top_k = top_k
        self.filter = filter
        self.min_score = min_score
        self.stale = StaleHitPolicy(stale)

    @abstractmethod
    def find(self, query: str) -> list[NodeWithScore]:
        """The nodes for a query."""

    def make_request(self, query: str) -> SearchRequest:
        """Make a search request with this retriever's settings."""
        return SearchRequest(
            indexes=[self.index],
            query=query,
            mode=self.mode,
            limit=self.top_k,
            filter=self.filter,
            min_score=self.min_score,
            stale=self.stale,
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.find(query_bundle.query_str)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Retrieve in a thread, because embedding, database and store block."""
        return await run_in_thread(self._retrieve, query_bundle)
