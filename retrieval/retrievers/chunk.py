"""Chunks of one index as LlamaIndex nodes."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import close_old_connections
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    QueryBundle,
    RelatedNodeInfo,
    RelatedNodeType,
    TextNode,
)

from indexing.models import IndexBuild, Node
from retrieval.search import Hit, Mode, SearchRequest, Stale, search_chunks

# source_id, strategy, chunk_index
Place = tuple[UUID | None, str, int | None]


class ChunkRetriever(BaseRetriever):
    """The chunks that answer a query best, best first, each with the verdict on it.

    An index is searched in its live build, whichever that is at the time; a build as it is.
    Scores are reciprocal ranks fused (hybrid), cosines (dense) or BM25 (sparse), and comparable
    within one mode of one index only. ``filter`` is as the API takes it. A node's SOURCE is the
    passage its offsets count in, its PARENT the page, PREVIOUS and NEXT its neighbours there.

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
        stale: Stale | str = Stale.FLAG,
    ) -> None:
        super().__init__()
        self.index = index
        self.mode = Mode(mode)
        self.top_k = top_k
        self.filter = filter
        self.min_score = min_score
        self.stale = Stale(stale)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = search_chunks(
            SearchRequest(
                indexes=[self.index],
                query=query_bundle.query_str,
                mode=self.mode,
                limit=self.top_k,
                filter=self.filter,
                min_score=self.min_score,
                stale=self.stale,
            )
        )
        neighbours = self._find_neighbours(answer.hits)
        return [
            NodeWithScore(node=to_text_node(hit, neighbours), score=hit.score)
            for hit in answer.hits
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The same, in a thread: embedding, database and store would block the event loop."""
        return await asyncio.to_thread(self._retrieve_in_thread, query_bundle)

    def _retrieve_in_thread(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # No request ends in this thread, so nothing else puts away connections gone bad.
        close_old_connections()
        try:
            return self._retrieve(query_bundle)
        finally:
            close_old_connections()

    def _find_neighbours(self, hits: Sequence[Hit]) -> dict[Place, UUID]:
        """Point ids by place, for every chunk of the hits' sources; one query."""
        rows = Node.objects.filter(
            kind="chunk", source__in={UUID(hit.payload["source_id"]) for hit in hits}
        ).exclude(state=Node.State.DOOMED)
        if isinstance(self.index, IndexBuild):
            rows = rows.filter(build=self.index)
        else:
            rows = rows.live().filter(build__index=self.index)
        places = rows.values_list("source_id", "strategy", "chunk_index", "point_id")
        return {
            (source_id, strategy, chunk_index): point_id
            for source_id, strategy, chunk_index, point_id in places
        }


def to_text_node(hit: Hit, neighbours: Mapping[Place, UUID]) -> TextNode:
    """The hit as a node; none of its metadata is shown to a model, for that would shift what
    fits a window."""
    payload = hit.payload
    metadata = {
        **payload["metadata"],
        "index": hit.index,
        "artifact_id": payload["artifact_id"],
        "title": payload["artifact_title"],
        "page_id": payload["page_id"],
        "page_index": payload["page_index"],
        "source_id": payload["source_id"],
        "source_ordinal": payload["source_ordinal"],
        "strategy": payload["strategy"],
        "chunk_index": payload["chunk_index"],
        "start_offset": payload["start_offset"],
        "end_offset": payload["end_offset"],
        "verdict": None if hit.verdict is None else str(hit.verdict),
    }
    hidden = list(metadata)
    return TextNode(
        id_=str(hit.node_id),
        text=payload["text"],
        start_char_idx=payload["start_offset"],
        end_char_idx=payload["end_offset"],
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
        relationships=_relate(payload, neighbours),
    )


def _relate(
    payload: Mapping[str, Any], neighbours: Mapping[Place, UUID]
) -> dict[NodeRelationship, RelatedNodeType]:
    related: dict[NodeRelationship, RelatedNodeType] = {
        NodeRelationship.SOURCE: RelatedNodeInfo(
            node_id=payload["source_id"],
            node_type=ObjectType.DOCUMENT,
            hash=payload["source_hash"],
            metadata={"artifact_id": payload["artifact_id"]},
        ),
        NodeRelationship.PARENT: RelatedNodeInfo(node_id=payload["page_id"]),
    }
    source_id, strategy = UUID(payload["source_id"]), payload["strategy"]
    for relationship, step in ((NodeRelationship.PREVIOUS, -1), (NodeRelationship.NEXT, 1)):
        place = (source_id, strategy, payload["chunk_index"] + step)
        if place in neighbours:
            related[relationship] = RelatedNodeInfo(
                node_id=str(neighbours[place]), node_type=ObjectType.TEXT
            )
    return related
