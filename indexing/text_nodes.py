"""Convert a node of Strata to a LlamaIndex ``TextNode``.

LlamaIndex takes seconds to import, so it is imported when the first node is made.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from core.import_lock import import_lock

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

    from documents.models import Page, Source


def make_text_node(
    *,
    kind: str,
    point_id: UUID,
    artifact_id: UUID | None,
    text: str,
    text_hash: str | None,
    source_hash: str | None,
    page: "Page | None" = None,
    source: "Source | None" = None,
    strategy: str = "",
    chunk_index: int | None = None,
    start_offset: int | None = None,
    end_offset: int | None = None,
    context: str = "",
    token_count: int = 0,
    details: Mapping[str, Any] | None = None,
) -> "TextNode":
    """The relationship SOURCE is the source that the offsets refer to, else the artifact, else the
    node itself; PARENT is the page.

    All metadata is hidden from models: only ``context`` is embedded in front of the text.
    """
    with import_lock:
        from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

    relationships = {
        NodeRelationship.SOURCE: RelatedNodeInfo(
            node_id=str(source.pk if source else artifact_id or point_id),
            node_type=ObjectType.DOCUMENT,
            hash=source_hash,
            metadata={
                "artifact_id": str(artifact_id) if artifact_id else None,
                "ordinal": source.ordinal if source else None,
                "start": source.start if source else None,
            },
        )
    }
    if page is not None:
        relationships[NodeRelationship.PARENT] = RelatedNodeInfo(
            node_id=str(page.pk),
            metadata={name: getattr(page, name) for name in ("index", "unseen_start", "warnings")},
        )
    metadata = {
        "kind": kind,
        "strategy": strategy,
        "chunk_index": chunk_index,
        "text_hash": text_hash,
        "context": context,
        "token_count": token_count,
        "details": {} if details is None else details,
    }
    hidden_keys = list(metadata)
    return TextNode(
        id_=str(point_id),
        text=text,
        start_char_idx=start_offset,
        end_char_idx=end_offset,
        relationships=relationships,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden_keys,
        excluded_llm_metadata_keys=hidden_keys,
    )
