"""The base of every retriever."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from access.grants import EVERYTHING, Grant
from indexing.models import IndexBuild
from retrieval.event_loop import run_in_thread
from retrieval.search import Mode, StaleHitPolicy

Answer = TypeVar("Answer")


class IndexRetriever(BaseRetriever, Generic[Answer]):
    """One way of searching one or several indexes.

    ``search`` returns Strata's own answer, with verdicts and times. ``retrieve``, LlamaIndex's
    method, returns the hits as nodes. An index name searches the index's current live build; an
    ``IndexBuild`` searches that build.
    """

    def __init__(
        self,
        index: str | IndexBuild | Sequence[str | IndexBuild],
        *,
        grant: Grant = EVERYTHING,
    ) -> None:
        super().__init__()
        self.indexes = [index] if isinstance(index, str | IndexBuild) else list(index)
        self.grant = grant

    @abstractmethod
    def search(self, query: str) -> Answer:
        """
        Raises:
            InvalidInput: names the parameter; also if an index holds no nodes of the kind.
            UnknownIndex: lists the known names.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """

    @abstractmethod
    def to_nodes(self, answer: Answer) -> list[NodeWithScore]:
        """The hits of an answer as LlamaIndex nodes."""

    async def asearch(self, query: str) -> Answer:
        """``search`` in a thread, because embedding, database and store block."""
        return await run_in_thread(self.search, query)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.to_nodes(self.search(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await run_in_thread(self._retrieve, query_bundle)


class ModeRetriever(IndexRetriever[Answer]):
    """The base of the retrievers that search in a mode: hybrid, dense or sparse.

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
        filter: Mapping[str, Any] | None = None,
        verify: bool = True,
        explain: bool = False,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
        min_revision: int | None = None,
    ) -> None:
        super().__init__(index, grant=grant)
        self.mode = Mode(mode)
        self.top_k = top_k
        self.filter = filter
        self.verify = verify
        self.explain = explain
        self.stale = StaleHitPolicy(stale)
        self.min_revision = min_revision
