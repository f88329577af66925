"""What payloads of several kinds have in common, and the hash of a payload."""

import hashlib
import json

from indexing.kinds import KINDS
from indexing.models import Node
from indexing.stores.base import Payload


def base_payload(node: Node) -> Payload:
    """What every kind stores: the text, and what proves it."""
    return {
        "kind": node.kind,
        KINDS[node.kind].text_field: node.text,
        "text_hash": node.text_hash,
        "source_hash": node.source_hash,
    }


def document_payload(node: Node) -> Payload:
    """Beside that, of which artifact it is, and how its owner describes it."""
    artifact = node.artifact
    assert artifact is not None
    return base_payload(node) | {
        "artifact_id": str(artifact.pk),
        "artifact_title": artifact.title,
        "external_id": artifact.external_id,
        "media_type": artifact.media_type,
        "metadata": artifact.metadata,
    }


def page_payload(node: Node) -> Payload:
    """Beside that, on which page it stands; none for a node of the whole document."""
    return document_payload(node) | {
        "page_id": str(node.page_id) if node.page_id else None,
        "page_index": node.page.index if node.page else None,
    }


def passage_payload(node: Node) -> Payload:
    """Beside that, where in its source the passage stands."""
    return page_payload(node) | {
        "source_id": str(node.source_id),
        "source_ordinal": node.source.ordinal if node.source else None,
        "strategy": node.strategy,
        "chunk_index": node.chunk_index,
        "start_offset": node.start_offset,
        "end_offset": node.end_offset,
    }


def declared_field_payload(node: Node) -> Payload:
    """The values of the declared fields that the node's artifact has."""
    assert node.artifact is not None
    metadata = node.artifact.metadata
    return {name: metadata[name] for name in node.build.spec.metadata if name in metadata}


def hash_payload(payload: Payload) -> str:
    """SHA-256 of a payload's canonical JSON, but for the time of its embedding."""
    lasting = {name: value for name, value in payload.items() if name != "date_embedded"}
    canonical = json.dumps(lasting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
