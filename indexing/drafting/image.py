"""Drafts the node of an artifact that is an image."""

import uuid
from typing import TYPE_CHECKING

from core.text import hash_text
from documents.models import Artifact
from documents.parsing import IMAGE_TYPES
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


class ImageDrafter(DrafterWithoutWrittenInput):
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

    def make_payload(self, node: Node) -> Payload:
        return declared_field_payload(node) | document_payload(node)
