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


class _RowDrafter:
    kind: str
    model: type[Entity] | type[Relationship]
    fields: tuple[str, ...]  # of its rows, in its payloads

    def find_rows(self, index: str) -> QuerySet[Any]:
        return self.model._default_manager.filter(index=index)

    def draft(self, row: Any, build: IndexBuild) -> "TextNode":
        text = self.read_text(row)
        text_hash = hash_text(text)
        if row.text_hash != text_hash:  # forgotten, or changed by SQL or update()
            self.model._default_manager.filter(pk=row.pk).update(text_hash=text_hash)
        return make_text_node(
            kind=self.kind,
            point_id=row.pk,
            artifact_id=None,
            text=text,
            text_hash=text_hash,
            source_hash=text_hash,  # it is its own source
            token_count=-(-len(text) // CHARACTERS_PER_TOKEN),
            **self.describe(row),
        )

    def read_text(self, row: Any) -> str:
        return str(row.text)

    def describe(self, row: Any) -> dict[str, Any]:
        """Further arguments of ``make_text_node``."""
        return {"details": {name: getattr(row, name) for name in self.fields}}

    def make_payload(self, node: Node) -> Payload:
        return {name: node.details[name] for name in self.fields} | base_payload(node)


class ConceptDrafter(_RowDrafter):
    kind = "concept"
    model = Concept
    fields = Concept.text_fields


class RelationshipTypeDrafter(_RowDrafter):
    """A long description would outweigh the name, so the vector of the name alone is added: then
    the type is similar to both."""

    kind = "relationship_type"
    model = RelationshipType
    fields = RelationshipType.text_fields + RelationshipType.label_fields

    def describe(self, row: RelationshipType) -> dict[str, Any]:
        described = super().describe(row)
        described["details"]["context_weight"] = NAME_WEIGHT
        return described | {"context": speak_name(row.name)}


class RelationshipDrafter(_RowDrafter):
    """Its text says what is related, and what the documents say: "Heron eats Fish", and a quote of
    each concept."""

    kind = "relationship"
    model = Relationship
    fields = END_FIELDS

    def find_rows(self, index: str) -> QuerySet[Relationship]:
        # Each in a query of its own: with a join, the concepts would be locked, too.
        return Relationship.objects.of_index(index).prefetch_related("source", "type", "target")

    def read_text(self, row: Relationship) -> str:
        statement = f"{row.source.label} {speak_name(row.type.name)} {row.target.label}"
        quotes = dict.fromkeys(each.quote[:MAX_QUOTE_CHARS] for each in row.find_quotes())
        return "\n".join([statement, *quotes])

    def describe(self, row: Relationship) -> dict[str, Any]:
        return {"details": {name: str(getattr(row, name)) for name in END_FIELDS}}
