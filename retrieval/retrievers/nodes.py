"""Converts hits to LlamaIndex nodes.

All metadata is hidden from models, because it would take space in their context window.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    RelatedNodeInfo,
    RelatedNodeType,
    TextNode,
)

from indexing.models import Node
from retrieval.search import Hit
from summaries.models import Annotation

# build_id, source_id, strategy, chunk_index
ChunkPosition = tuple[int, UUID | None, str, int | None]


def find_neighbour_ids(hits: Sequence[Hit]) -> dict[ChunkPosition, UUID]:
    """Map the place of every chunk of the hits' sources to its id.

    Chunks that are not embedded have no ledger rows; their ids are read from their annotations.
    """
    nodes = Node.objects.filter(kind="chunk").exclude(state=Node.State.DELETING)
    embedded = [hit for hit in hits if "chunk" in hit.spec.kinds]
    not_embedded = [hit for hit in hits if "chunk" not in hit.spec.kinds]
    positions = _find_positions(nodes, "point_id", embedded)
    return positions | _find_positions(Annotation.objects.all(), "chunk_id", not_embedded)


def _find_positions(
    rows: QuerySet[Any], id_field: str, hits: Sequence[Hit]
) -> dict[ChunkPosition, UUID]:
    if not hits:
        return {}
    rows = rows.filter(
        build__in={hit.build_id for hit in hits},
        source__in={UUID(hit.payload["source_id"]) for hit in hits},
    )
    return {
        (build_id, source_id, strategy, chunk_index): chunk_id
        for build_id, source_id, strategy, chunk_index, chunk_id in rows.values_list(
            "build_id", "source_id", "strategy", "chunk_index", id_field
        )
    }


def to_passage_nodes(scored_hits: Sequence[tuple[Hit, float]]) -> list[NodeWithScore]:
    """Convert hits on chunks and questions, each given with its score."""
    neighbours = find_neighbour_ids([hit for hit, _ in scored_hits])
    return [
        NodeWithScore(
            node=(
                to_question_chunk_node if hit.payload.get("kind") == "question" else to_chunk_node
            )(hit, neighbours),
            score=score,
        )
        for hit, score in scored_hits
    ]


def to_chunk_node(
    hit: Hit,
    neighbours: Mapping[ChunkPosition, UUID],
    *,
    extra_metadata: Mapping[str, Any] | None = None,
) -> TextNode:
    """Convert a chunk hit. SOURCE is the source that its offsets count in, PARENT the page,
    PREVIOUS and NEXT the neighbouring chunks of the source."""
    return _make_passage_node(
        hit,
        str(hit.node_id),
        hit.payload["text"],
        neighbours,
        {} if extra_metadata is None else extra_metadata,
    )


def to_question_chunk_node(hit: Hit, neighbours: Mapping[ChunkPosition, UUID]) -> TextNode:
    """Convert a question hit to the node of the chunk that answers it."""
    payload = hit.payload
    declared = {name: payload[name] for name in hit.spec.metadata if name in payload}
    question_metadata = {
        "question": payload["question"],
        "question_id": str(hit.node_id),
        "summary": payload["summary"],
    }
    chunk_id, text = payload["chunk_id"], payload["chunk_text"]
    return _make_passage_node(hit, chunk_id, text, neighbours, declared | question_metadata)


def to_summary_node(hit: Hit) -> TextNode:
    """Convert a summary hit. Its id is that of its page or artifact, its SOURCE the artifact."""
    payload = hit.payload
    metadata = {
        **payload["metadata"],
        **_make_document_metadata(hit),
        "type": payload["type"],
        "model_name": payload["model_name"],
        "date_embedded": payload["date_embedded"],
    }
    if "page_count" in payload:
        metadata["page_count"] = payload["page_count"]
    artifact = RelatedNodeInfo(node_id=payload["artifact_id"], node_type=ObjectType.DOCUMENT)
    return make_hit_node(
        str(hit.node_id),
        payload["summary_text"],
        metadata,
        {NodeRelationship.SOURCE: artifact},
    )


def _make_passage_node(
    hit: Hit,
    node_id: str,
    text: str,
    neighbours: Mapping[ChunkPosition, UUID],
    extra_metadata: Mapping[str, Any],
) -> TextNode:
    payload = hit.payload
    metadata = {
        **payload["metadata"],
        **extra_metadata,
        **_make_document_metadata(hit),
        "source_id": payload["source_id"],
        "source_ordinal": payload["source_ordinal"],
        "strategy": payload["strategy"],
        "chunk_index": payload["chunk_index"],
        "start_offset": payload["start_offset"],
        "end_offset": payload["end_offset"],
    }
    node = make_hit_node(node_id, text, metadata, _make_relationships(hit, neighbours))
    node.start_char_idx, node.end_char_idx = payload["start_offset"], payload["end_offset"]
    return node


def _make_document_metadata(hit: Hit) -> dict[str, Any]:
    payload = hit.payload
    return {
        "index": hit.index,
        "artifact_id": payload["artifact_id"],
        "title": payload["artifact_title"],
        "file_name": payload.get("file_name"),
        "page_id": payload["page_id"],
        "page_index": payload["page_index"],
        "verdict": None if hit.verdict is None else str(hit.verdict),
    }


def make_hit_node(
    node_id: str,
    text: str,
    metadata: dict[str, Any],
    relationships: dict[NodeRelationship, RelatedNodeType],
) -> TextNode:
    hidden_keys = list(metadata)
    return TextNode(
        id_=node_id,
        text=text,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden_keys,
        excluded_llm_metadata_keys=hidden_keys,
        relationships=relationships,
    )


def _make_relationships(
    hit: Hit, neighbours: Mapping[ChunkPosition, UUID]
) -> dict[NodeRelationship, RelatedNodeType]:
    payload = hit.payload
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
        position = (hit.build_id, source_id, strategy, payload["chunk_index"] + step)
        if position in neighbours:
            related[relationship] = RelatedNodeInfo(
                node_id=str(neighbours[position]), node_type=ObjectType.TEXT
            )
    return related
