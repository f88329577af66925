"""Retriever of one index's chunks, grouped by artifact and page."""

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import NodeWithScore

from indexing.models import IndexBuild
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import find_neighbour_ids, to_chunk_node, to_summary_node
from retrieval.search import HierarchicalRequest, Hit, Mode, StaleHitPolicy, search_hierarchical


class HierarchicalRetriever(IndexRetriever):
    """The best chunks of the best pages of the best artifacts, in that order.

    ``top_k`` counts chunks. Their metadata hold the summaries of page and artifact where those
    were found as well, and the scores of both. With ``with_summaries`` the summaries are nodes
    too, in front of all chunks and beyond ``top_k``: each artifact's, then its pages'.
    """

    def __init__(
        self,
        index: str | IndexBuild,
        *,
        mode: Mode | str = Mode.HYBRID,
        top_k: int = 10,
        artifacts: int = 10,
        filter: Mapping[str, Any] | None = None,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
        with_summaries: bool = False,
    ) -> None:
        super().__init__(index, mode=mode, top_k=top_k, filter=filter, stale=stale)
        self.artifacts = artifacts
        self.with_summaries = with_summaries

    def find(self, query: str) -> list[NodeWithScore]:
        answer = search_hierarchical(
            HierarchicalRequest(
                indexes=[self.index],
                query=query,
                mode=self.mode,
                limit=self.artifacts,
                filter=self.filter,
                stale=self.stale,
            )
        )
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
                    "page_summary": _get_summary_text(page.summary),
                }
                chunks += [(hit, group_metadata) for hit in page.chunks]
        chunks = chunks[: self.top_k]
        neighbours = find_neighbour_ids(self.index, [hit for hit, _ in chunks])
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
