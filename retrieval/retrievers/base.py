"""The base of every retriever."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from indexing.models import IndexBuild
from retrieval.event_loop import run_in_thread
from retrieval.search import Mode, SearchRequest, StaleHits


class IndexRetriever(BaseRetriever):
    """Nodes of one index, each with the verdict on it.

    An index is searched in its live build, whichever that is at the time; a build as it is.
    Scores are reciprocal ranks fused (hybrid), cosines (dense) or BM25 (sparse), and comparable
    within one mode of one index only. ``filter`` is as the API takes it.

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
        stale: StaleHits | str = StaleHits.FLAG,
    ) -> None:
        super().__init__()
        self.index = index
        self.mode = Mode(mode)
        self.top_k = top_k
        self.filter = filter
        self.min_score = min_score
        self.stale = StaleHits(stale)

    @abstractmethod
    def find(self, query: str) -> list[NodeWithScore]:
        """The nodes for a query."""

    def make_request(self, query: str) -> SearchRequest:
        """The query as this retriever was set up to ask it."""
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
        """The same, in a thread: embedding, database and store would block the event loop."""
        return await run_in_thread(self._retrieve, query_bundle)
