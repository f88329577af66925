"""The kind ``compound``: the chemical structures a declared field of an artifact holds."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import In, IsNull

from core.text import hash_text
from documents.models import Artifact
from indexing.kinds.chunk import artifact_payload, declared_field_payload
from indexing.kinds.registry import NEVER, Condition, KindWithoutWrittenInput
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload


class CompoundKind(KindWithoutWrittenInput):
    name = "compound"
    regeneration_type = "compound"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        assert build.spec.compounds is not None
        return [
            Node(
                build=build,
                kind=self.name,
                point_id=uuid.uuid5(artifact.pk, f"compound {smiles}"),
                artifact=artifact,
                text=smiles,
                text_hash=hash_text(smiles),
                source_hash=hash_text(smiles),  # it is its own source
            )
            for smiles in list_structures(artifact.metadata, build.spec.compounds.field)
        ]

    def payload(self, node: Node) -> Payload:
        structure = {"kind": self.name, "text": node.text}
        return declared_field_payload(node) | artifact_payload(node) | structure

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        conditions = NEVER
        for build in IndexBuild.objects.filter(pk__in=builds):
            if build.spec.compounds is None:
                continue
            mirrored = Node.objects.filter(
                build=build,
                artifact=OuterRef("pk"),
                kind=self.name,
                attributes_hash=OuterRef("attributes_hash"),
            ).exclude(state=Node.State.DELETING)
            conditions |= _holds_structures(build.spec.compounds.field) & Q(~Exists(mirrored))
        return conditions


def list_structures(metadata: Mapping[str, Any], field: str) -> list[str]:
    """What the field holds, each once; whether it is a structure is for its embedding to say."""
    held = metadata.get(field)
    values = [] if held is None else held if isinstance(held, list) else [held]
    return list(dict.fromkeys(str(value) for value in values))


def _holds_structures(field: str) -> Q:
    held = KeyTextTransform(field, "metadata")
    return Q(IsNull(held, False)) & ~Q(In(held, ["[]", "null"]))  # SQLite: null is no NULL
