"""Parts of payloads that several kinds share, and the hash of a payload."""

import hashlib
import json

from access.grants import EVERYONE
from indexing.kinds import KINDS
from indexing.models import Node
from indexing.stores.base import Payload


def base_payload(node: Node) -> Payload:
    """Fields of every kind: the text, the hashes that verify it, and the groups that see it."""
    groups = node.artifact.groups if node.artifact else []
    return {
        "kind": node.kind,
        KINDS[node.kind].text_field: node.text,
        "text_hash": node.text_hash,
        "source_hash": node.source_hash,
        "groups": groups or [EVERYONE],
    }


def document_payload(node: Node) -> Payload:
    """``base_payload`` and the artifact with its attributes."""
    artifact = node.artifact
    assert artifact is not None
    return base_payload(node) | {
        "artifact_id": str(artifact.pk),
        "artifact_title": artifact.title,
        "external_id": artifact.external_id,
        "file_name": artifact.file_name,
        "media_type": artifact.media_type,
        "metadata": artifact.metadata,
    }


def page_payload(node: Node) -> Payload:
    """``document_payload`` and the page; None for a node of the whole document."""
    return document_payload(node) | {
        "page_id": str(node.page_id) if node.page_id else None,
        "page_index": node.page.index if node.page else None,
    }


def passage_payload(node: Node) -> Payload:
    """``page_payload`` and the place of the passage in its source."""
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
    """SHA-256 of a payload's canonical JSON, without the time of embedding."""
    lasting = {name: value for name, value in payload.items() if name != "date_embedded"}
    canonical = json.dumps(lasting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
