"""Drafts one node for each concept, relationship type and relationship."""

from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from concepts.models import Concept, Entity, Relationship, RelationshipType, speak_name
from core.text import hash_text
from indexing.drafting.drafter import base_payload
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload
from indexing.text_nodes import make_text_node

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

CHARACTERS_PER_TOKEN = 4  # about, in English; an exact count would load the embedding model
MAX_QUOTE_CHARS = 1_000  # of each quote in a relationship's text
END_FIELDS = ("source", "type", "target")  # of a relationship; its payload has their names
NAME_WEIGHT = 0.5  # of the vector of a type's name, beside that of its name and description


class _EntityDrafter:
    kind: str
    model: type[Entity]

    def find_rows(self, index: str) -> QuerySet[Any]:
        return self.model._default_manager.filter(index=index)

    def draft(self, entity: Entity, build: IndexBuild) -> "TextNode":
        text_hash = hash_text(entity.text)
        if entity.text_hash != text_hash:  # changed by SQL or update()
            self.model._default_manager.filter(pk=entity.pk).update(text_hash=text_hash)
        return make_text_node(
            kind=self.kind,
            point_id=entity.pk,
            artifact_id=None,
            text=entity.text,
            text_hash=text_hash,
            source_hash=text_hash,  # it is its own source
            token_count=-(-len(entity.text) // CHARACTERS_PER_TOKEN),
            **self.describe(entity),
        )

    def describe(self, entity: Any) -> dict[str, Any]:
        """Further arguments of ``make_text_node``."""
        return {"details": {name: getattr(entity, name) for name in self.list_fields()}}

    def list_fields(self) -> tuple[str, ...]:
        return self.model.text_fields + self.model.label_fields

    def make_payload(self, node: Node) -> Payload:
        return {name: node.details[name] for name in self.list_fields()} | base_payload(node)


class ConceptDrafter(_EntityDrafter):
    kind = "concept"
    model = Concept


class RelationshipTypeDrafter(_EntityDrafter):
    """A long description would outweigh the name, so the vector of the name alone is added: then
    the type is similar to both."""

    kind = "relationship_type"
    model = RelationshipType

    def describe(self, entity: RelationshipType) -> dict[str, Any]:
        described = super().describe(entity)
        described["details"]["context_weight"] = NAME_WEIGHT
        return described | {"context": speak_name(entity.name)}


class RelationshipDrafter:
    """Its text says what is related, and what the documents say: "Heron eats Fish", and a quote of
    each concept."""

    kind = "relationship"

    def find_rows(self, index: str) -> QuerySet[Relationship]:
        # Each in a query of its own: with a join, the concepts would be locked, too.
        return Relationship.objects.of_index(index).prefetch_related("source", "type", "target")

    def draft(self, edge: Relationship, build: IndexBuild) -> "TextNode":
        statement = f"{edge.source.label} {speak_name(edge.type.name)} {edge.target.label}"
        quotes = dict.fromkeys(each.quote[:MAX_QUOTE_CHARS] for each in edge.find_quotes())
        text = "\n".join([statement, *quotes])
        text_hash = hash_text(text)
        if edge.text_hash != text_hash:
            Relationship.objects.filter(pk=edge.pk).update(text_hash=text_hash)
        return make_text_node(
            kind=self.kind,
            point_id=edge.pk,
            artifact_id=None,
            text=text,
            text_hash=text_hash,
            source_hash=text_hash,  # it is its own source
            token_count=-(-len(text) // CHARACTERS_PER_TOKEN),
            details={name: str(getattr(edge, name)) for name in END_FIELDS},
        )

    def make_payload(self, node: Node) -> Payload:
        return {name: node.details[name] for name in END_FIELDS} | base_payload(node)
