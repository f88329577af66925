"""The base of every retriever."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from access.grants import EVERYTHING, Grant
from indexing.models import IndexBuild
from retrieval.event_loop import run_in_thread
from retrieval.search import SearchAnswer, SearchOptions
from retrieval.search.flat import search_nodes

Answer = TypeVar("Answer")

# The options of a search that has a mode.
MODE_OPTIONS = frozenset({
    "mode", "limit", "filter", "verify", "explain", "stale", "min_revision", "vector", "versions",
    "must", "must_not", "phrases", "read",
})  # fmt: skip


class IndexRetriever(BaseRetriever, Generic[Answer]):
    """One way of searching one or several indexes.

    ``search`` returns Strata's own answer, with verdicts and times. ``retrieve``, LlamaIndex's
    method, returns the hits as nodes. An index name searches the index's current live build; an
    ``IndexBuild`` searches that build. The options are those of ``SearchOptions`` that ``takes``
    names; another one is a ``TypeError``.
    """

    takes: ClassVar[frozenset[str]]

    def __init__(
        self,
        index: str | IndexBuild | Sequence[str | IndexBuild],
        *,
        grant: Grant = EVERYTHING,
        **options: Any,
    ) -> None:
        super().__init__()
        if refused := sorted(options.keys() - self.takes):
            raise TypeError(
                f"{type(self).__name__} does not take {', '.join(refused)}; its search options are "
                f"{', '.join(sorted(self.takes))}."
            )
        self.indexes = [index] if isinstance(index, str | IndexBuild) else list(index)
        self.grant = grant
        # Where words may be required, they are also read in the query.
        self.options = SearchOptions(reads_syntax="must" in self.takes, **options)

    @abstractmethod
    def search(self, query: str) -> Answer:
        """Search for a query, which is empty if the option ``vector`` stands for it.

        Raises:
            InvalidInput: names the parameter; also if an index holds no nodes of the kind.
            UnknownIndex: lists the known names.
            NotYetIndexed: ``min_revision`` was not reached in time.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """

    @abstractmethod
    def to_nodes(self, answer: Answer) -> list[NodeWithScore]:
        """The hits of an answer as LlamaIndex nodes."""

    def _search_nodes(
        self, query: str, kinds: Sequence[str], options: SearchOptions, **how: Any
    ) -> SearchAnswer:
        """Rank the nodes of these kinds."""
        return search_nodes(self.indexes, query, kinds, options, self.grant, **how)

    async def asearch(self, query: str) -> Answer:
        """``search`` in a thread, because embedding, database and store block."""
        return await run_in_thread(self.search, query)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.to_nodes(self.search(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await run_in_thread(self._retrieve, query_bundle)
