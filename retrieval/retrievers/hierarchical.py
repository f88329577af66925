"""Retriever of artifacts with their best pages and chunks."""

from typing import Any

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.base import MODE_OPTIONS, IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_chunk_node, to_summary_node
from retrieval.search import HierarchicalAnswer, Hit
from retrieval.search.hierarchy import search_hierarchical


class HierarchicalRetriever(IndexRetriever[HierarchicalAnswer]):
    """The best artifacts of an index, ``limit`` of them, with their best pages and chunks.

    The nodes are the first ``limit`` chunks of the best pages of these artifacts, in that order.
    Their metadata hold the scores of page and artifact, the page's summary, and the artifact's if
    it was found. With ``with_summaries`` the found summaries are nodes too: they come before all
    chunks, each artifact's before its pages', and ``limit`` does not count them.
    """

    takes = MODE_OPTIONS

    def __init__(self, index: Any, *, with_summaries: bool = False, **options: Any) -> None:
        super().__init__(index, **options)
        self.with_summaries = with_summaries

    def search(self, query: str) -> HierarchicalAnswer:
        return search_hierarchical(self.indexes, query, self.options, self.grant)

    def to_nodes(self, answer: HierarchicalAnswer) -> list[NodeWithScore]:
        summaries: list[Hit] = []
        chunks: list[tuple[Hit, dict[str, Any]]] = []
        for artifact in answer.artifacts:
            summaries += [artifact.summary] if artifact.summary else []
            for page in artifact.pages:
                summaries += [page.summary] if page.summary else []
                group_metadata = {
                    "artifact_score": artifact.score,
                    "artifact_summary": _get_summary_text(artifact.summary),
                    "page_score": page.score,
                    "page_summary": page.summary_text,
                }
                chunks += [(hit, group_metadata) for hit in page.chunks]
        chunks = chunks[: self.options.limit]
        neighbours = find_neighbour_ids([hit for hit, _ in chunks])
        nodes = [
            NodeWithScore(
                node=to_chunk_node(hit, neighbours, extra_metadata=group_metadata), score=hit.score
            )
            for hit, group_metadata in chunks
        ]
        if not self.with_summaries:
            return nodes
        return [
            *(NodeWithScore(node=to_summary_node(hit), score=hit.score) for hit in summaries),
            *nodes,
        ]


def _get_summary_text(summary: Hit | None) -> str | None:
    return None if summary is None else summary.payload["summary_text"]
