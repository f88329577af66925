"""The kinds ``concept`` and ``relationship_type``: one node for each."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef

from concepts.models import Concept, Entity, RelationshipType
from core.text import hash_text
from documents.models import Artifact
from indexing import embedding
from indexing.kinds.registry import Condition, KindWithoutWrittenInput
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload


class _EntityKind(KindWithoutWrittenInput):
    name: str
    model: type[Entity]
    regeneration_type: str

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        entity = self.model._default_manager.filter(artifact=artifact).first()
        if entity is None:
            return []
        text_hash = hash_text(entity.text)
        if entity.text_hash != text_hash:  # changed behind Django's back
            entity.save(update_fields=["text_hash"])
        [token_count] = embedding.get_embedder(build.spec.embedding).count_tokens([entity.text])
        return [
            Node(
                build=build,
                kind=self.name,
                point_id=artifact.pk,
                artifact=artifact,
                text=entity.text,
                text_hash=text_hash,
                source_hash=text_hash,  # it is its own source
                token_count=token_count,
                details=self.describe(entity),
            )
        ]

    def describe(self, entity: Any) -> dict[str, Any]:
        """The fields of an entity that a search hit shows."""
        raise NotImplementedError

    def payload(self, node: Node) -> Payload:
        return node.details | {
            "kind": self.name,
            "artifact_id": str(node.artifact_id),
            "artifact_title": node.artifact.title,
            "text": node.text,
            "text_hash": node.text_hash,
            "source_hash": node.source_hash,
        }

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        planned = Node.objects.filter(
            build__in=builds,
            artifact=OuterRef("pk"),
            kind=self.name,
            text_hash=OuterRef("text_hash"),
            attributes_hash=OuterRef("artifact__attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        entities = self.model._default_manager.filter(artifact=OuterRef("pk"))
        return Exists(entities.filter(~Exists(planned)))


class ConceptKind(_EntityKind):
    name = "concept"
    model = Concept
    regeneration_type = "concept"

    def describe(self, entity: Concept) -> dict[str, Any]:
        return {
            "label": entity.label,
            "description": entity.description,
            "search_terms": entity.search_terms,
        }


class RelationshipTypeKind(_EntityKind):
    name = "relationship_type"
    model = RelationshipType
    regeneration_type = "vocabulary"

    def describe(self, entity: RelationshipType) -> dict[str, Any]:
        return {
            "name": entity.name,
            "category": entity.category,
            "description": entity.description,
        }
