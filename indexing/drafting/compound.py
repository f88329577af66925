"""Drafts the nodes of compounds: the chemical structures in a declared field of an artifact."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.text import hash_text
from documents.models import Artifact
from indexing.drafting.drafter import (
    DrafterWithoutWrittenInput,
    declared_field_payload,
    document_payload,
)
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload
from indexing.text_nodes import make_text_node

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class CompoundDrafter(DrafterWithoutWrittenInput):
    def draft(self, artifact: Artifact, build: IndexBuild) -> list["TextNode"]:
        assert build.spec.compounds is not None
        return [
            make_text_node(
                kind="compound",
                point_id=uuid.uuid5(artifact.pk, f"compound {smiles}"),
                artifact_id=artifact.pk,
                text=smiles,
                text_hash=hash_text(smiles),
                source_hash=hash_text(smiles),  # it is its own source
            )
            for smiles in list_structures(artifact.metadata, build.spec.compounds.field)
        ]

    def make_payload(self, node: Node) -> Payload:
        return declared_field_payload(node) | document_payload(node)


def list_structures(metadata: Mapping[str, Any], field: str) -> list[str]:
    """The distinct values of the field; whether each is a valid structure is not checked here."""
    content = metadata.get(field)
    values = [] if content is None else content if isinstance(content, list) else [content]
    return list(dict.fromkeys(str(value) for value in values))
