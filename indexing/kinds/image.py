"""The kind ``image``: the picture an artifact is."""

import uuid
from collections.abc import Sequence

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from core.text import hash_text
from documents.models import Artifact
from documents.parsing import IMAGE_TYPES
from indexing.kinds.chunk import artifact_payload, declared_field_payload
from indexing.kinds.registry import Condition, KindWithoutWrittenInput
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload


class ImageKind(KindWithoutWrittenInput):
    """Its text is the name of the artifact's file among the originals, which the content's hash
    is a part of: another revision is another text, and another title is not."""

    name = "image"
    regeneration_type = "image"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        if not artifact.has_file or artifact.media_type not in IMAGE_TYPES:
            return []
        text = artifact.file_path.relative_to(settings.STRATA_FILES_DIR).as_posix()
        return [
            Node(
                build=build,
                kind=self.name,
                point_id=uuid.uuid5(artifact.pk, "image"),
                artifact=artifact,
                text=text,
                text_hash=hash_text(text),
                source_hash=artifact.sha256,
            )
        ]

    def payload(self, node: Node) -> Payload:
        picture = {"kind": self.name, "text": node.text}
        return declared_field_payload(node) | artifact_payload(node) | picture

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        mirrored = Node.objects.filter(
            build__in=builds,
            artifact=OuterRef("pk"),
            kind=self.name,
            source_hash=OuterRef("sha256"),
            attributes_hash=OuterRef("attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        return Q(has_file=True, media_type__in=IMAGE_TYPES) & ~Q(Exists(mirrored))
