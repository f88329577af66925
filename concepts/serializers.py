"""Reads the requests of the concepts API and renders its answers."""

from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import Any
from uuid import UUID

from django.db.models import Count
from rest_framework import serializers

from access.grants import Grant
from concepts.models import Concept, Instance, Relationship, RelationshipType
from concepts.quotes import MAX_QUOTE_CHARS
from concepts.services import MAX_CHARS
from core.openapi import with_example
from core.serializers import PagingSerializer, StrictSerializer, StringField, TitleField
from core.text import clean_text, hash_text
from documents.models import Source
from documents.serializers import render_reference

MAX_MERGED_CONCEPTS = 100
EVIDENCE_DISCLAIMER = (
    "A quote is descriptive: it shows where a text mentions a concept, and does not prove a "
    "relationship."
)


# --- Requests --------------------------------------------------------------------------------


@with_example(
    {
        "quote": "The heron stands in the shallows",
        "artifact": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1",
    }
)
class QuoteSerializer(StrictSerializer):
    quote = StringField(max_length=MAX_QUOTE_CHARS)
    source = serializers.UUIDField(  # type: ignore[assignment]
        required=False,
        source="source_id",
        help_text="The source of the quote. Give this or artifact.",
    )
    artifact = serializers.UUIDField(
        required=False,
        source="artifact_id",
        help_text="The artifact: the quote is located in its first source that contains it.",
    )

    def validate_quote(self, quote: str) -> str:
        return clean_text(quote).strip()


@with_example({"label": "Heron", "description": "A wading bird.", "search_terms": ["Ardea"]})
class ConceptPatchSerializer(StrictSerializer):
    label = TitleField(max_length=MAX_CHARS["label"], required=False)  # type: ignore[assignment]
    description = TitleField(max_length=MAX_CHARS["description"], required=False, allow_blank=True)
    search_terms = serializers.ListField(
        child=TitleField(max_length=MAX_CHARS["label"]), required=False
    )


class ConceptInputSerializer(ConceptPatchSerializer):
    label = TitleField(max_length=MAX_CHARS["label"])


@with_example({"concepts": ["0d9f8e7c-6b5a-4493-8271-605f4e3d2c1b"]})
class MergeSerializer(StrictSerializer):
    concepts = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MAX_MERGED_CONCEPTS,
        help_text="The concepts to merge into this one.",
    )  # fmt: skip


@with_example({"name": "EATS", "category": "ecology", "description": "Feeds on."})
class RelationshipTypePatchSerializer(StrictSerializer):
    name = TitleField(max_length=MAX_CHARS["name"], required=False)
    category = TitleField(max_length=MAX_CHARS["category"], required=False, allow_blank=True)
    description = TitleField(max_length=MAX_CHARS["description"], required=False, allow_blank=True)


class RelationshipTypeInputSerializer(RelationshipTypePatchSerializer):
    name = TitleField(max_length=MAX_CHARS["name"])


@with_example(
    {
        "source": "b4a1d6a8-3a5e-4a39-9a43-0a1c6a6d1b11",
        "type": "f2f3f4a0-0b1c-4d5e-8f90-1a2b3c4d5e6f",
        "target": "0d9f8e7c-6b5a-4493-8271-605f4e3d2c1b",
    }
)
class RelationshipInputSerializer(StrictSerializer):
    source = serializers.UUIDField(  # type: ignore[assignment]
        source="source_id", help_text="The first concept."
    )
    type = serializers.UUIDField(source="type_id")
    target = serializers.UUIDField(source="target_id", help_text="The second concept.")


class ConceptFilterSerializer(PagingSerializer):
    evidence = serializers.ChoiceField(
        choices=["none", "some"],
        required=False,
        help_text="none: only concepts without quotes, for review.",
    )
    label = TitleField(  # type: ignore[assignment]
        max_length=MAX_CHARS["label"], required=False, help_text="Part of the label, in any case."
    )


class RelationshipTypeFilterSerializer(PagingSerializer):
    category = TitleField(max_length=MAX_CHARS["category"], required=False)


class RelationshipFilterSerializer(PagingSerializer):
    concept = serializers.UUIDField(
        required=False, help_text="Relationships from or to this concept."
    )
    type = serializers.UUIDField(required=False)


# --- Answers ---------------------------------------------------------------------------------


def render_concepts(concepts: Collection[Concept], grant: Grant) -> list[dict[str, Any]]:
    """Render concepts that the grant includes."""
    ids = [concept.pk for concept in concepts]
    instances = Instance.objects.not_lost().filter(concept__in=ids).order_by()
    counts = instances.values_list("concept").annotate(Count("pk"))
    evidence: dict[UUID, int] = dict(counts)
    degrees = count_relationships(ids, grant)
    return [
        {
            "id": str(concept.pk),
            "index": concept.index,
            "label": concept.label,
            "description": concept.description,
            "search_terms": concept.search_terms,
            "evidence_count": evidence.get(concept.pk, 0),
            "relationship_count": degrees[concept.pk],
            "revision": concept.revision,
        }
        for concept in concepts
    ]


def count_relationships(concept_ids: Collection[UUID], grant: Grant) -> Counter[UUID]:
    """Number of visible relationships of each concept."""
    edges = Relationship.objects.involving(concept_ids).visible_to(grant).order_by()
    return Counter(chain.from_iterable(edges.values_list("source_id", "target_id")))


def render_quote(instance: Instance) -> dict[str, Any]:
    source = instance.source
    return {
        "id": str(instance.pk),
        "quote": instance.quote,
        "start_offset": instance.start_offset,
        "end_offset": instance.end_offset,
        "verdict": check_quote(instance, source),
        "artifact": render_reference(instance.artifact),
        "source": None
        if source is None
        else {"id": str(source.pk), "ordinal": source.ordinal, "heading": source.heading},
    }


def check_quote(instance: Instance, source: Source | None) -> str:
    """Compare the quote with the source's current text: ``exact``, ``stale`` or ``lost``."""
    if instance.is_lost:
        return "lost"
    if source is None or hash_text(source.text) != instance.source_hash:
        return "stale"
    is_unchanged = source.text[instance.start_offset : instance.end_offset] == instance.quote
    return "exact" if is_unchanged else "stale"


def render_relationship_type(relationship_type: RelationshipType) -> dict[str, Any]:
    return {
        "id": str(relationship_type.pk),
        "index": relationship_type.index,
        "name": relationship_type.name,
        "category": relationship_type.category,
        "description": relationship_type.description,
        "revision": relationship_type.revision,
    }


def render_relationship(edge: Relationship) -> dict[str, Any]:
    return {
        "id": str(edge.pk),
        "source": {"id": str(edge.source_id), "label": edge.source.label},
        "type": {"id": str(edge.type_id), "name": edge.type.name, "category": edge.type.category},
        "target": {"id": str(edge.target_id), "label": edge.target.label},
    }
