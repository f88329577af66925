"""Concepts, the quotes that are their evidence, and the relationships between concepts.

Each concept and relationship type is one node of the index and has the id of its point. The amount
of evidence does not show whether a relationship is true.
"""

import uuid
from collections.abc import Collection
from typing import Any, Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from access.grants import Grant
from core.leases import LeasedQuerySet, LeasedRow
from core.text import hash_text, normalise
from documents.groups import is_visible
from documents.models import Artifact, RevisedRow, Source


def normalise_name(name: str) -> str:
    """Normalise a name (NFKC, case, white space) so that equal names compare equal."""
    return " ".join(normalise(name, "NFKC").casefold().split())


def hash_name(name: str) -> str:
    """Hash a name; names that differ only in case and white space have the same hash."""
    return hash_text(normalise_name(name))


class EntityQuerySet(models.QuerySet[Any]):
    def of_index(self, index: str) -> Self:
        return self.filter(index=index)

    def named(self, index: str, name: str) -> Self:
        """The entity of an index with this name, ignoring case."""
        return self.filter(index=index, name_hash=hash_name(name))


class Entity(RevisedRow):
    """Base of concepts and relationship types: one node each, embedded from ``text``."""

    name_hash = models.CharField(max_length=64, editable=False)
    text_hash = models.CharField(max_length=64, editable=False)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["index", "name_hash"], name="%(class)s_name"),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.name_hash, self.text_hash = hash_name(str(self)), hash_text(self.text)
        update_fields = kwargs.get("update_fields")
        if update_fields is not None:
            kwargs["update_fields"] = {*update_fields, "name_hash", "text_hash"}
        super().save(*args, **kwargs)

    @property
    def text(self) -> str:
        raise NotImplementedError


class ConceptQuerySet(EntityQuerySet):
    def visible_to(self, grant: Grant) -> "ConceptQuerySet":
        """Concepts without quotes, and concepts all of whose quotes are from documents that the
        grant includes, because a description may repeat what any quoted document says."""
        concepts = grant.limit(self)
        if grant.sees_all_documents:
            return concepts
        hidden = Instance.objects.filter(~is_visible(grant, "artifact__"), concept=OuterRef("pk"))
        return concepts.filter(~Exists(hidden), is_restricted=False)

    def with_evidence(self) -> "ConceptQuerySet":
        """Concepts with at least one instance that is not lost."""
        return self.filter(_has_evidence())

    def without_evidence(self) -> "ConceptQuerySet":
        """Concepts without any instance that is not lost, for review."""
        return self.filter(~_has_evidence())

    def with_evidence_count(self) -> "ConceptQuerySet":
        has_located_quote = Q(instances__is_lost=False)
        return self.annotate(evidence_count=models.Count("instances", filter=has_located_quote))


class Concept(Entity):
    label = models.CharField(max_length=300)
    description = models.TextField(blank=True)
    search_terms = models.JSONField(default=list, blank=True)
    is_restricted = models.BooleanField(
        default=False,
        editable=False,
        help_text="Hidden from those who do not see all documents: a document with groups that it "
        "quoted was deleted.",
    )
    pairing_input_hash = models.CharField(
        max_length=64, blank=True, editable=False,
        help_text="Hash of its vector's input when its neighbours were last searched.",
    )  # fmt: skip

    objects = ConceptQuerySet.as_manager()

    def __str__(self) -> str:
        return self.label

    @property
    def text(self) -> str:
        terms = ", ".join(self.search_terms)
        return "\n".join(part for part in (self.label, self.description, terms) if part)


class InstanceQuerySet(models.QuerySet["Instance"]):
    def not_lost(self) -> "InstanceQuerySet":
        """Instances whose quote was found at the last search for it."""
        return self.filter(is_lost=False)

    def stale(self) -> "InstanceQuerySet":
        """Instances whose source was deleted or changed after their quote was last located."""
        has_changed = ~Q(source_hash=F("source__content_hash"))
        return self.not_lost().filter(Q(source=None) | has_changed)


class Instance(models.Model):
    """A quote that is evidence of a concept. While its source is unchanged, always:
    ``source.text[start_offset:end_offset] == quote``."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    concept = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="instances")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Source, null=True, on_delete=models.SET_NULL, related_name="+")
    quote = models.TextField(help_text="Copied exactly from the source.")
    start_offset = models.PositiveIntegerField(help_text="First character, in the source's text.")
    end_offset = models.PositiveIntegerField(help_text="One past the last character.")
    source_hash = models.CharField(max_length=64, help_text="Hash of the source it was found in.")
    is_lost = models.BooleanField(
        default=False,
        help_text="The document no longer contains the quote; the service searches for it again.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = InstanceQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["concept", "source", "start_offset", "end_offset"],
                name="instance_concept_place",
            ),
        ]
        indexes = [models.Index(fields=["artifact", "is_lost"], name="instance_artifact")]

    def __str__(self) -> str:
        return self.quote[:80]


class RelationshipTypeQuerySet(EntityQuerySet):
    def visible_to(self, grant: Grant) -> "RelationshipTypeQuerySet":
        """Types with a relationship that the grant includes, and types without relationships."""
        types = grant.limit(self)
        if grant.sees_all_documents:
            return types
        edges = Relationship.objects.filter(type=OuterRef("pk"))
        return types.filter(~Exists(edges) | Exists(edges.visible_to(grant)))


class RelationshipType(Entity):
    """A type of relationship from the index's vocabulary, such as SUPPORTS."""

    name = models.CharField(max_length=200)
    category = models.CharField(
        max_length=60, blank=True, help_text="Such as semantic, structural, epistemic."
    )
    description = models.TextField(blank=True)

    objects = RelationshipTypeQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        parts = (self.name, self.category, self.description)
        return "\n".join(part for part in parts if part)


class RelationshipQuerySet(models.QuerySet["Relationship"]):
    def of_index(self, index: str) -> "RelationshipQuerySet":
        return self.filter(source__index=index)

    def visible_to(self, grant: Grant) -> "RelationshipQuerySet":
        """Relationships between concepts that the grant includes."""
        if grant.sees_all_documents:
            return grant.limit(self, "source__index")
        concepts = Concept.objects.visible_to(grant)
        return self.filter(
            Exists(concepts.filter(pk=OuterRef("source"))),
            Exists(concepts.filter(pk=OuterRef("target"))),
        )

    def involving(self, concept_id: uuid.UUID) -> "RelationshipQuerySet":
        """Relationships that have this concept as source or target."""
        return self.filter(Q(source=concept_id) | Q(target=concept_id))

    def with_concepts_and_type(self) -> "RelationshipQuerySet":
        """Load the two concepts and the type in the same query."""
        return self.select_related("source", "type", "target")


class Relationship(models.Model):
    """An edge from ``source`` to ``target``, both concepts of one index."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    source = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="outgoing")
    type = models.ForeignKey(RelationshipType, on_delete=models.CASCADE, related_name="edges")
    target = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="incoming")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RelationshipQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "type", "target"], name="relationship_edge"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="relationship_joins_two"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.type} {self.target}"


class EmergentPairQuerySet(models.QuerySet["EmergentPair"]):
    def visible_to(self, grant: Grant) -> "EmergentPairQuerySet":
        """Pairs of concepts that the grant includes."""
        if grant.sees_all_documents:
            return grant.limit(self, "first__index")
        concepts = Concept.objects.visible_to(grant)
        return self.filter(
            Exists(concepts.filter(pk=OuterRef("first"))),
            Exists(concepts.filter(pk=OuterRef("second"))),
        )

    def open(self) -> "EmergentPairQuerySet":
        """Pairs that are not dismissed and have no relationship in either direction."""
        forward = Relationship.objects.filter(source=OuterRef("first"), target=OuterRef("second"))
        backward = Relationship.objects.filter(source=OuterRef("second"), target=OuterRef("first"))
        return self.filter(~Exists(forward), ~Exists(backward), dismissed_at=None)

    def dismissed(self) -> "EmergentPairQuerySet":
        return self.exclude(dismissed_at=None)

    def involving(self, concept_ids: Collection[uuid.UUID]) -> "EmergentPairQuerySet":
        return self.filter(Q(first__in=concept_ids) | Q(second__in=concept_ids))


class EmergentPair(models.Model):
    """Two concepts with similar vectors; ``first`` has the smaller id. A person decides whether a
    relationship is missing between them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    first = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="+")
    similarity = models.FloatField(help_text="Cosine of their vectors in the live build.")
    found_at = models.DateTimeField(auto_now_add=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    objects = EmergentPairQuerySet.as_manager()

    class Meta:
        ordering = ["-similarity", "id"]
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="emergent_pair"),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="emergent_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.first} – {self.second}"


class ExtractionQuerySet(LeasedQuerySet["Extraction"]):
    def claimable(self, index: str) -> "ExtractionQuerySet":
        """Due rows of an index that no worker holds."""
        return self.free().filter(state=Extraction.State.DUE, source__artifact__index=index)


class Extraction(LeasedRow):
    """The state of concept extraction for one source: a queue row with a lease, and its result."""

    class State(models.TextChoices):
        DUE = "due"
        WRITTEN = "written"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="+")
    source_hash = models.CharField(max_length=64, help_text="Hash of the source.")
    recipe_hash = models.CharField(max_length=64, help_text="Hash of the spec's concept settings.")
    state = models.CharField(max_length=7, choices=State, default=State.DUE)
    model_name = models.CharField(max_length=200, blank=True)
    concept_count = models.PositiveIntegerField(default=0)
    refused_count = models.PositiveIntegerField(
        default=0, help_text="Quotes that are not in the source, and what depends on them."
    )
    is_cache_bypassed = models.BooleanField(
        default=False, editable=False, help_text="Do not reuse a stored completion."
    )
    written_at = models.DateTimeField(null=True)

    objects = ExtractionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["state"], name="extraction_due", condition=Q(state="due")),
        ]

    def __str__(self) -> str:
        return f"concepts of {self.source}"


def _has_evidence() -> Exists:
    return Exists(Instance.objects.not_lost().filter(concept=OuterRef("pk")))
