"""Search passages, concepts and sources, and call the tools that a spec declares."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Unpack, get_args, overload

from strata_client._async.connection import AsyncMethods
from strata_client.bodies import split_texts
from strata_client.exceptions import InvalidRequest
from strata_client.types import (
    BlendOptions,
    ConceptSearchAnswer,
    Embeddings,
    HierarchicalAnswer,
    HierarchicalSearchOptions,
    ImageSearchAnswer,
    ImageSearchOptions,
    InputType,
    KnowledgeSearchOptions,
    PagedKnowledgeSearchOptions,
    PageSearchAnswer,
    PassageSearchOptions,
    QuestionSearchAnswer,
    RecursiveSearchOptions,
    RelationshipTypeSearchAnswer,
    RouteOptions,
    RoutingAnswer,
    SearchKind,
    SearchOptions,
    SimilarSourcesOptions,
    Source,
    SourceSearchAnswer,
    SourceSearchOptions,
    SpaceSearchOptions,
    StructureSearchAnswer,
    SubgraphAnswer,
    SummarySearchAnswer,
    SummarySearchOptions,
    Tool,
    ToolAnswer,
)


class AsyncSearches(AsyncMethods):
    """The methods of the client that search.

    A search takes a query, a ``vector`` of the index's model in its place, or both: then the
    vector replaces that of the query, whose words are still searched.

    Every method raises ``NotFound`` for an unknown index, source or tool, and ``InvalidRequest``
    for a wrong parameter or an index that does not hold what is searched.
    """

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str | None = ...,
        *,
        kind: Literal["pages"] = ...,
        **options: Unpack[PassageSearchOptions],
    ) -> PageSearchAnswer: ...

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str | None = ...,
        *,
        kind: Literal["summaries"],
        **options: Unpack[SummarySearchOptions],
    ) -> SummarySearchAnswer: ...

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str | None = ...,
        *,
        kind: Literal["questions"],
        **options: Unpack[SearchOptions],
    ) -> QuestionSearchAnswer: ...

    async def search(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        *,
        kind: SearchKind = "pages",
        **options: Any,
    ) -> PageSearchAnswer | SummarySearchAnswer | QuestionSearchAnswer:
        """Return the best hits in one index, or in several that share an embedding model: chunks,
        summaries, or chunks by the questions they answer.

        With the ``min_revision`` of an artifact just added, the search waits up to 5 s for it and
        raises ``Conflict`` if it is not searchable by then.
        """
        if kind not in get_args(SearchKind):
            raise InvalidRequest(
                f"There is no kind {kind!r} of search.",
                code="invalid",
                field="kind",
                allowed=list(get_args(SearchKind)),
            )
        return await self._search(kind, index, query, options)

    async def search_hierarchical(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[HierarchicalSearchOptions],
    ) -> HierarchicalAnswer:
        """Return the best artifacts, with their best pages and chunks."""
        return await self._search("hierarchical", index, query, options)

    async def search_recursive(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[RecursiveSearchOptions],
    ) -> PageSearchAnswer:
        """Return the chunks below the summaries, questions and concepts that answer a query."""
        return await self._search("recursive", index, query, options)

    async def search_structures(
        self,
        index: str | Sequence[str],
        structure: str,
        *,
        query: str | None = None,
        **options: Unpack[SpaceSearchOptions],
    ) -> StructureSearchAnswer:
        """Return the artifacts that hold a chemical structure like the given one, best first.

        Args:
            structure: SMILES.
            query: rank artifacts by these words as well.
        """
        given = {**options, "structure": structure}
        return await self._search("structures", index, query, given)

    async def search_images(
        self, index: str | Sequence[str], query: str, **options: Unpack[ImageSearchOptions]
    ) -> ImageSearchAnswer:
        """Return the artifacts whose images show what the query says, and those whose passages say
        it, best first."""
        return await self._search("images", index, query, options)

    # --- Concepts and sources ----------------------------------------------------------------

    async def search_concepts(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[PagedKnowledgeSearchOptions],
    ) -> ConceptSearchAnswer:
        """Return concepts by their meaning, each with quotes that support it."""
        return await self._search("concepts", index, query, options)

    async def search_relationships(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[PagedKnowledgeSearchOptions],
    ) -> RelationshipTypeSearchAnswer:
        """Return relationship types by their meaning, each with its relationships."""
        return await self._search("relationships", index, query, options)

    async def search_sources(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[SourceSearchOptions],
    ) -> SourceSearchAnswer:
        """Return sources by the chunks of them that match, with offsets to highlight."""
        return await self._search("sources", index, query, options)

    async def route(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[RouteOptions],
    ) -> RoutingAnswer:
        """Return the concepts, sources and relationship types near a query; ``entry`` names the
        nearest of all."""
        return await self._search("route", index, query, options)

    async def blend(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[BlendOptions],
    ) -> ConceptSearchAnswer:
        """Return concepts by their meaning, by sources that quote them and by the types of their
        relationships."""
        return await self._search("blend", index, query, options)

    async def subgraph(
        self,
        index: str | Sequence[str],
        query: str | None = None,
        **options: Unpack[KnowledgeSearchOptions],
    ) -> SubgraphAnswer:
        """Return the concepts, sources and relationship types above ``min_similarity``, and the
        relationships among these concepts."""
        return await self._search("subgraph", index, query, options)

    async def source(self, source_id: str, *, window: int | None = None) -> Source:
        """Return a source in full, with its chunks.

        Args:
            window: neighbours on each side, 0 to 10.
        """
        return await self._connection.read("sources/{}/", source_id, window=window)

    async def similar_sources(
        self,
        source_id: str,
        *,
        index: str | Sequence[str] | None = None,
        **options: Unpack[SimilarSourcesOptions],
    ) -> SourceSearchAnswer:
        """Return the sources most similar to a source, without that one.

        Args:
            index: the indexes to search, which share its embedding model; by default its own.

        Raises:
            Conflict: the source has no chunks that are embedded yet.
        """
        names = index if index is None or isinstance(index, str) else ",".join(index)
        return await self._connection.read("sources/{}/similar", source_id, index=names, **options)

    # --- Vectors -----------------------------------------------------------------------------

    async def embed(self, index: str, text: str, *, input_type: InputType = "query") -> list[float]:
        """Return the vector of a text by the model of an index, which reads a long text up to its
        window.

        Args:
            input_type: ``query``, embedded as the searches of the index embed theirs, or
                ``passage``, embedded as documents.
        """
        [vector] = await self.embed_batch(index, [text], input_type=input_type)
        return vector

    async def embed_batch(
        self, index: str, texts: Iterable[str], *, input_type: InputType = "query"
    ) -> list[list[float]]:
        """Return the vectors of several texts, in order; as ``embed``. They are sent in requests of
        at most 100 texts and 100,000 characters."""
        vectors: list[list[float]] = []
        for batch in split_texts(texts):
            answer: Embeddings = await self._connection.post(
                "indexes/{}/embed", index, is_idempotent=True, input=batch, input_type=input_type
            )
            vectors += answer["vectors"]
        return vectors

    # --- Tools -------------------------------------------------------------------------------

    async def tools(self, index: str) -> list[Tool]:
        """Return the tools that an index declares, each with the JSON schema of its arguments."""
        return (await self._connection.read("indexes/{}/tools/", index))["results"]

    async def call_tool(
        self, index: str, name: str, arguments: Mapping[str, object] | None = None
    ) -> ToolAnswer:
        """Call a tool and return its hits.

        Args:
            arguments: as the tool's schema says, and optionally ``limit``.

        Raises:
            Conflict: the live build does not hold what the tool needs.
        """
        return await self._connection.fetch(
            "POST",
            "indexes/{}/tools/{}/",
            index,
            name,
            is_idempotent=True,
            json=dict(arguments or {}),
        )

    async def _search(
        self,
        kind: str,
        index: str | Sequence[str],
        query: str | None,
        options: Mapping[str, object],
    ) -> Any:
        names = index if isinstance(index, str) else list(index)
        return await self._connection.post(
            f"search/{kind}", is_idempotent=True, index=names, query=query, **options
        )
