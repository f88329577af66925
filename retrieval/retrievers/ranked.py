"""Retrievers that rank chunks, summaries and questions, one kind or several at once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle

from retrieval.retrievers.base import MODE_OPTIONS, IndexRetriever
from retrieval.retrievers.nodes import to_passage_nodes, to_summary_node
from retrieval.search import (
    GroupBy,
    HierarchicalAnswer,
    Hit,
    MultiQueryAnswer,
    SearchAnswer,
    SummaryType,
)
from retrieval.search.flat import (
    GROUPING_DEPTH,
    drop_repeated_chunks,
    keep_best_of_each,
    rank_groups,
)
from retrieval.search.hierarchy import DEFAULT_ARTIFACTS, search_hierarchical
from retrieval.search.multi_query import search_by_queries
from retrieval.search.run import fuse_by_rank
from retrieval.search.targets import Candidate
from retrieval.search.versions import fold_versions

_RANKED_OPTIONS = MODE_OPTIONS | {"offset", "min_score", "with_similarity"}
_QUESTIONS_PER_CHUNK = 3  # questions fetched for each wanted chunk: they rank close together


class PassageRetriever(IndexRetriever[SearchAnswer]):
    """Scores are fused reciprocal ranks (hybrid), cosines (dense) or BM25 (sparse), comparable only
    within one mode; cosines of indexes with different models are replaced by reciprocal ranks."""

    takes = _RANKED_OPTIONS

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return to_passage_nodes(answer.hits)


class ChunkRetriever(PassageRetriever):
    """The chunks that answer a query best, best first. The same text, cut by several strategies, is
    one hit.

    ``group_by`` keeps only the best chunk of each page or artifact; a second one that is nearly as
    good adds to its score. ``limit`` and ``offset`` then count pages or artifacts. Versions and
    copies of a passage are one hit, unless ``versions`` is ``all``.
    """

    def __init__(
        self, index: Any, *, group_by: GroupBy | str | None = None, **options: Any
    ) -> None:
        super().__init__(index, **options)
        self.group_by = None if group_by is None else GroupBy(group_by)

    def search(self, query: str) -> SearchAnswer:
        def keep_distinct(ranking: Sequence[Candidate]) -> list[Candidate]:
            kept = fold_versions(drop_repeated_chunks(ranking), self.options.versions)
            return kept if self.group_by is None else rank_groups(f"{self.group_by}_id", kept)

        reordered_count = 0 if self.group_by is None else GROUPING_DEPTH
        return self._search_nodes(
            query,
            ["chunk"],
            self.options,
            keep_distinct=keep_distinct,
            reordered_count=reordered_count,
        )


class QuestionRetriever(PassageRetriever):
    """The chunks whose questions are nearest to a query, each once, best first.

    ``limit`` and ``offset`` count chunks. A node is the chunk, with the question that found it and
    its declared fields in the metadata.
    """

    def search(self, query: str) -> SearchAnswer:
        def keep_distinct(ranking: Sequence[Candidate]) -> list[Candidate]:
            return fold_versions(keep_best_of_each("chunk_id", ranking), self.options.versions)

        return self._search_nodes(
            query,
            ["question"],
            replace(self.options, with_similarity=True),
            keep_distinct=keep_distinct,
            points_per_hit=_QUESTIONS_PER_CHUNK,
        )


class SummaryRetriever(IndexRetriever[SearchAnswer]):
    """The summaries of pages, artifacts or both that answer a query best, best first."""

    takes = _RANKED_OPTIONS

    def __init__(
        self, index: Any, *, type: SummaryType | str = SummaryType.ALL, **options: Any
    ) -> None:
        super().__init__(index, **options)
        self.type = SummaryType(type)

    def search(self, query: str) -> SearchAnswer:
        keep_distinct = partial(fold_versions, versions=self.options.versions)
        return self._search_nodes(query, self.type.kinds, self.options, keep_distinct=keep_distinct)

    def to_nodes(self, answer: SearchAnswer) -> list[NodeWithScore]:
        return [to_summary_node(hit) for hit in answer.hits]


class HierarchicalRetriever(IndexRetriever[HierarchicalAnswer]):
    """The best artifacts of an index, ``limit`` of them, with their best pages and chunks.

    The nodes are the first ``limit`` chunks of the best pages of these artifacts, in that order.
    Their metadata hold the scores of page and artifact, the page's summary, and the artifact's if
    it was found. With ``with_summaries`` the found summaries are nodes too: they come before all
    chunks, each artifact's before its pages', and ``limit`` does not count them.
    """

    takes = MODE_OPTIONS

    def __init__(self, index: Any, *, with_summaries: bool = False, **options: Any) -> None:
        super().__init__(index, **{"limit": DEFAULT_ARTIFACTS, **options})
        self.with_summaries = with_summaries

    def search(self, query: str) -> HierarchicalAnswer:
        return search_hierarchical(self.indexes, query, self.options, self.grant)

    def to_nodes(self, answer: HierarchicalAnswer) -> list[NodeWithScore]:
        summaries: list[Hit | None] = []
        chunks: list[Hit] = []
        metadata: list[dict[str, Any]] = []
        for artifact in answer.artifacts:
            summaries.append(artifact.summary)
            for page in artifact.pages:
                summaries.append(page.summary)
                chunks += page.chunks
                of_page = {
                    "artifact_score": artifact.score,
                    "artifact_summary": artifact.summary
                    and artifact.summary.payload["summary_text"],
                    "page_score": page.score,
                    "page_summary": page.summary_text,
                }
                metadata += [of_page] * len(page.chunks)
        shown = summaries if self.with_summaries else []
        limit = self.options.limit
        return [
            *(to_summary_node(summary) for summary in shown if summary is not None),
            *to_passage_nodes(chunks[:limit], metadata[:limit]),
        ]


class QueriesRetriever(IndexRetriever[MultiQueryAnswer]):
    """The best passages for any of several queries, each once, best first.

    ``QueryBundle(query, custom_embedding_strs=[...])`` gives the queries, which are embedded in
    one batch; a plain string is one query. Each query's ranking is hybrid, ``limit`` times
    ``multiplier`` deep; scores are the reciprocal ranks of those rankings, fused.
    """

    takes = frozenset({"limit", "filter", "stale", "versions", "read"})

    def __init__(self, index: Any, *, multiplier: int = 5, **options: Any) -> None:
        super().__init__(index, **options)
        self.multiplier = multiplier

    def search(self, query: str) -> MultiQueryAnswer:
        return self.search_queries([query])

    def search_queries(self, queries: Sequence[str]) -> MultiQueryAnswer:
        """Return a ranking for each query; raises as ``search``."""
        [index] = self.indexes
        options = replace(self.options, limit=self.options.limit * self.multiplier)
        return search_by_queries(index, queries, options, self.grant)

    def to_nodes(self, answer: MultiQueryAnswer) -> list[NodeWithScore]:
        return to_passage_nodes(fuse_by_rank(answer.rankings, self.options.limit))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.to_nodes(self.search_queries(query_bundle.embedding_strs))
