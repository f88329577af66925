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


def to_passage_nodes(
    hits: Sequence[Hit], extra_metadata: Sequence[Mapping[str, Any]] | None = None
) -> list[NodeWithScore]:
    """Convert hits on chunks, and hits on questions to the chunks that answer them. SOURCE is the
    source that a chunk's offsets count in, PARENT the page, PREVIOUS and NEXT the neighbouring
    chunks of the source."""
    neighbours = _find_neighbour_ids(hits)
    return [
        _to_passage_node(hit, neighbours, extra)
        for hit, extra in zip(hits, extra_metadata or [{}] * len(hits), strict=True)
    ]


def _to_passage_node(
    hit: Hit, neighbours: Mapping[ChunkPosition, UUID], extra_metadata: Mapping[str, Any]
) -> NodeWithScore:
    payload = hit.payload
    text_field = "text"
    if payload.get("kind") == "question":
        text_field = "chunk_text"
        extra_metadata = {name: payload[name] for name in hit.spec.metadata if name in payload} | {
            "question": payload["question"],
            "question_id": str(hit.node_id),
            "summary": payload["summary"],
        }
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
    return make_node(
        hit.passage_id,
        payload[text_field],
        hit.score,
        metadata,
        _make_relationships(hit, neighbours),
        start_char_idx=payload["start_offset"],
        end_char_idx=payload["end_offset"],
    )


def to_document_node(
    hit: Hit, text: str, score: float, metadata: Mapping[str, Any], *, id: str | None = None
) -> NodeWithScore:
    """Convert a hit that no chunk answers. Its id is by default that of the hit, its SOURCE the
    artifact; ``metadata`` is added to what the hit says of its document."""
    artifact_id = hit.payload["artifact_id"]
    artifact = RelatedNodeInfo(node_id=artifact_id, node_type=ObjectType.DOCUMENT)
    return make_node(
        id or str(hit.node_id),
        text,
        score,
        {**hit.payload["metadata"], **_make_document_metadata(hit), **metadata},
        {NodeRelationship.SOURCE: artifact},
    )


def to_summary_node(hit: Hit) -> NodeWithScore:
    """Convert a summary hit. Its id is that of its page or artifact."""
    payload = hit.payload
    names = ("type", "model_name", "date_embedded", "page_count")
    metadata = {name: payload[name] for name in names if name in payload}
    return to_document_node(hit, payload["summary_text"], hit.score, metadata)


def make_node(
    node_id: str,
    text: str,
    score: float,
    metadata: dict[str, Any],
    relationships: dict[NodeRelationship, RelatedNodeType] | None = None,
    **fields: Any,
) -> NodeWithScore:
    hidden_keys = list(metadata)
    node = TextNode(
        id_=node_id,
        text=text,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden_keys,
        excluded_llm_metadata_keys=hidden_keys,
        relationships=relationships or {},
        **fields,
    )
    return NodeWithScore(node=node, score=score)


def _make_document_metadata(hit: Hit) -> dict[str, Any]:
    payload = hit.payload
    return {
        "index": hit.index,
        "artifact_id": payload["artifact_id"],
        "title": payload["artifact_title"],
        "file_name": payload.get("file_name"),
        "page_id": payload.get("page_id"),
        "page_index": payload.get("page_index"),
        "verdict": None if hit.verdict is None else str(hit.verdict),
    }


def _find_neighbour_ids(hits: Sequence[Hit]) -> dict[ChunkPosition, UUID]:
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
    names = ("build_id", "source_id", "strategy", "chunk_index", id_field)
    return {tuple(position): chunk_id for *position, chunk_id in rows.values_list(*names)}


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
