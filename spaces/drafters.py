"""Drafts the nodes that have a vector space of their own: of an artifact that is an image, and of
the chemical structures in a declared field."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.exceptions import InvalidInput
from core.text import hash_text
from documents.models import Artifact
from documents.parsing import IMAGE_TYPES
from indexing.drafting.drafter import (
    DrafterWithoutWrittenInput,
    declared_field_payload,
    document_payload,
)
from indexing.models import IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.stores.base import Payload
from indexing.text_nodes import make_text_node
from spaces import rdkit_model
from spaces.spec import CompoundSpec

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class _OwnSpaceDrafter(DrafterWithoutWrittenInput):
    def make_payload(self, node: Node) -> Payload:
        return declared_field_payload(node) | document_payload(node)


class ImageDrafter(_OwnSpaceDrafter):
    """The text is the name of the original file, which contains the content's hash. So a new
    revision changes the text, and a new title does not."""

    def draft(self, artifact: Artifact, build: IndexBuild) -> list["TextNode"]:
        if not artifact.has_file or artifact.media_type not in IMAGE_TYPES:
            return []
        text = artifact.original_name
        return [
            make_text_node(
                kind="image",
                point_id=uuid.uuid5(artifact.pk, "image"),
                artifact_id=artifact.pk,
                text=text,
                text_hash=hash_text(text),
                source_hash=artifact.sha256,
            )
        ]


class CompoundDrafter(_OwnSpaceDrafter):
    def draft(self, artifact: Artifact, build: IndexBuild) -> list["TextNode"]:
        section = CompoundSpec.of(build.spec)
        assert section is not None
        return [
            make_text_node(
                kind="compound",
                point_id=uuid.uuid5(artifact.pk, f"compound {smiles}"),
                artifact_id=artifact.pk,
                text=smiles,
                text_hash=hash_text(smiles),
                source_hash=hash_text(smiles),  # it is its own source
            )
            for smiles in list_structures(artifact.metadata, section.field)
        ]


def list_structures(metadata: Mapping[str, Any], field: str) -> list[str]:
    """The distinct values of the field; whether each is a valid structure is not checked here."""
    content = metadata.get(field)
    values = [] if content is None else content if isinstance(content, list) else [content]
    return list(dict.fromkeys(str(value) for value in values))


def check_structures(metadata: Mapping[str, Any], spec: IndexSpec) -> None:
    """Check that each value of the field is a structure.

    Raises:
        ModelUnavailable: RDKit is not installed.
        InvalidInput: one is not; the error names the field.
    """
    section = CompoundSpec.of(spec)
    assert section is not None
    field = section.field
    try:
        for smiles in list_structures(metadata, field):
            rdkit_model.parse_smiles(smiles)
    except InvalidInput as error:
        error.field = f"metadata.{field}"
        raise
