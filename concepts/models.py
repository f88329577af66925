"""Concepts, their quotes, and the relationships between concepts.

Each concept and relationship type is one node of the index and has the id of its point. The amount
of evidence does not show whether a relationship is true.
"""

import uuid
from collections.abc import Collection
from typing import Any, ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When

from access.grants import EVERYTHING, Grant
from concepts.exceptions import (
    UnknownConcept,
    UnknownEmergentPair,
    UnknownRelationship,
    UnknownRelationshipType,
)
from core.exceptions import StrataError
from core.index_paths import get_index_path
from core.leases import LeasedQuerySet, LeasedRow, index_of_leases
from core.text import hash_text, normalise
from documents.groups import is_visible
from documents.models import Artifact, RevisedRow, Source

Row = TypeVar("Row", bound=models.Model)


def normalise_name(name: str) -> str:
    """Normalise a name (NFKC, case, white space) so that equal names compare equal."""
    return " ".join(normalise(name, "NFKC").casefold().split())


def hash_name(name: str) -> str:
    """Hash a name; names that differ only in case and white space have the same hash."""
    return hash_text(normalise_name(name))


def speak_name(name: str) -> str:
    """Write a name in the form of a text: DEPENDS_ON is "depends on"."""
    return normalise_name(name.replace("_", " "))


class VisibleQuerySet(models.QuerySet[Row]):
    """Rows that a grant may hide. The model names the ``unknown_error``."""

    def visible_to(self, grant: Grant) -> Self:
        raise NotImplementedError

    def require(self, pk: uuid.UUID, grant: Grant = EVERYTHING) -> Row:
        """Get the row with this id. Raises ``UnknownConcept`` and so on: the grant includes no row
        with this id."""
        row = self.visible_to(grant).filter(pk=pk).first()
        if row is None:
            model: Any = self.model
            raise model.unknown_error(field="id")
        return row


class EntityQuerySet(VisibleQuerySet[Row]):
    """Concepts or relationship types."""

    def find_named(self, names: Collection[str]) -> dict[uuid.UUID, str]:
        """The ids of the rows with one of these names, each with that name. Case and white space do
        not count, and "depends on" is DEPENDS_ON."""
        by_hash: dict[str, str] = {}
        for name in names:
            spoken = speak_name(name)
            for spelling in (spoken, spoken.replace(" ", "_"), name):
                by_hash[hash_name(spelling)] = name
        found = self.filter(name_hash__in=by_hash).order_by("pk")
        return {pk: by_hash[name_hash] for pk, name_hash in found.values_list("pk", "name_hash")}


class Entity(RevisedRow):
    """Base of concepts and relationship types: one node each, embedded from ``text``."""

    index_path = "index"

    name_hash = models.CharField(max_length=64, editable=False)
    text_hash = models.CharField(max_length=64, editable=False)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["index", "name_hash"], name="%(class)s_name")
        ]

    text_fields: ClassVar[tuple[str, ...]]  # in the order of ``text``; the first is the name
    label_fields: ClassVar[tuple[str, ...]] = ()  # shown with the text, not embedded
    unknown_error: ClassVar[type[StrataError]]

    def __str__(self) -> str:
        return str(getattr(self, self.text_fields[0]))

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.name_hash, self.text_hash = hash_name(str(self)), hash_text(self.text)
        update_fields = kwargs.get("update_fields")
        if update_fields is not None:
            kwargs["update_fields"] = {*update_fields, "name_hash", "text_hash"}
        super().save(*args, **kwargs)

    @property
    def text(self) -> str:
        values = (getattr(self, field) for field in self.text_fields)
        texts = (", ".join(each) if isinstance(each, list) else each for each in values)
        return "\n".join(filter(None, texts))

    @property
    def relationships(self) -> "RelationshipQuerySet":
        raise NotImplementedError


class ConceptQuerySet(EntityQuerySet["Concept"]):
    def visible_to(self, grant: Grant) -> "ConceptQuerySet":
        """Concepts without quotes, and concepts all of whose quotes are from documents that the
        grant includes, because a description may repeat what any quoted document says."""
        concepts = grant.limit(self)
        if grant.sees_all_documents:
            return concepts
        hidden = Instance.objects.filter(~is_visible(grant, "artifact__"), concept=OuterRef("pk"))
        return concepts.filter(~Exists(hidden), is_restricted=False)

    def with_quotes(self, amount: str) -> "ConceptQuerySet":
        """``some``: concepts with a quote that is not lost; ``none``: those without."""
        has_quotes = Exists(Instance.objects.not_lost().filter(concept=OuterRef("pk")))
        return self.filter(has_quotes if amount == "some" else ~has_quotes)


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

    text_fields = ("label", "description", "search_terms")
    unknown_error = UnknownConcept

    objects = ConceptQuerySet.as_manager()

    @property
    def relationships(self) -> "RelationshipQuerySet":
        return Relationship.objects.involving([self.pk])


class QuoteQuerySet(models.QuerySet["Instance"]):
    def not_lost(self) -> "QuoteQuerySet":
        """Those that were found at the last search for them."""
        return self.filter(is_lost=False)

    def stale(self) -> "QuoteQuerySet":
        """Those whose source was deleted, changed or replaced by that of another reading after they
        were last located."""
        has_changed = ~Q(source_hash=F("source__content_hash")) | Q(source__is_current=False)
        return self.not_lost().filter(Q(source=None) | has_changed)


class Instance(models.Model):
    """A quote of a concept. While its source is unchanged, always:
    ``source.text[start_offset:end_offset] == quote``. Backups and rights name it as the table."""

    index_path = "concept__index"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    concept = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="quotes")
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

    objects = QuoteQuerySet.as_manager()

    class Meta:
        verbose_name = "quote"
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["concept", "source", "start_offset", "end_offset"],
                name="instance_concept_place",
            )
        ]
        indexes = [models.Index(fields=["artifact", "is_lost"], name="instance_artifact")]

    def __str__(self) -> str:
        return self.quote[:80]


class RelationshipTypeQuerySet(EntityQuerySet["RelationshipType"]):
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

    text_fields = ("name", "description")
    label_fields = ("category",)
    unknown_error = UnknownRelationshipType

    objects = RelationshipTypeQuerySet.as_manager()

    @property
    def relationships(self) -> "RelationshipQuerySet":
        return Relationship.objects.filter(type=self)


class ConceptPairQuerySet(VisibleQuerySet[Row]):
    """Rows with two concepts of one index, which the fields ``ends`` name."""

    ends: tuple[str, str]

    def of_index(self, index: str) -> Self:
        return self.filter(**{get_index_path(self.model): index})

    def visible_to(self, grant: Grant) -> Self:
        """Rows both of whose concepts the grant includes."""
        if grant.sees_all_documents:
            return grant.limit(self)
        concepts = Concept.objects.visible_to(grant)
        return self.filter(*(Exists(concepts.filter(pk=OuterRef(end))) for end in self.ends))

    def involving(self, concept_ids: Collection[uuid.UUID]) -> Self:
        """Rows with at least one of these concepts."""
        first, second = ({f"{end}__in": concept_ids} for end in self.ends)
        return self.filter(Q(**first) | Q(**second))


class RelationshipQuerySet(ConceptPairQuerySet["Relationship"]):
    ends = ("source", "target")

    def inside_first(self, concept_ids: Collection[uuid.UUID]) -> "RelationshipQuerySet":
        """Relationships between two of these concepts first, the oldest first."""
        is_inside = Q(source__in=concept_ids, target__in=concept_ids)
        place = Case(When(is_inside, then=Value(0)), default=Value(1))
        return self.alias(place=place).order_by("place", "created_at", "pk")

    def forget_text(self) -> None:
        """Have the nodes of these relationships planned again, because their text has changed.
        Rows without a hash are written, too: a planner may be about to give them an old one."""
        self.update(text_hash="")

    def with_concepts_and_type(self) -> "RelationshipQuerySet":
        """Load the two concepts and the type in the same query."""
        return self.select_related("source", "type", "target")


class Relationship(models.Model):
    """An edge from ``source`` to ``target``, both concepts of one index."""

    index_path = "source__index"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    source = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="outgoing")
    type = models.ForeignKey(RelationshipType, on_delete=models.CASCADE, related_name="edges")
    target = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="incoming")
    text_hash = models.CharField(
        max_length=64, blank=True, default="", editable=False
    )  # of its node; empty from a change of its text until its node is planned again
    created_at = models.DateTimeField(auto_now_add=True)

    unknown_error = UnknownRelationship

    objects = RelationshipQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "type", "target"], name="relationship_edge"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="relationship_joins_two"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.type} {self.target}"

    @property
    def index(self) -> str:
        return self.type.index

    def find_quotes(self) -> list[Instance]:
        """The first quote of each of its concepts, if possible from one source that quotes both."""
        quotes = Instance.objects.not_lost().select_related("artifact", "source")
        of_source = quotes.filter(concept=self.source_id)
        of_target = quotes.filter(concept=self.target_id)
        both = of_target.filter(source=OuterRef("source")).order_by()
        of_source = of_source.alias(is_apart=~Exists(both))
        first = of_source.order_by("is_apart", "created_at", "pk").first()
        place = None if first is None else first.source_id
        is_apart = Case(When(source=place, then=Value(0)), default=Value(1))
        of_target = of_target.alias(is_apart=is_apart)
        second = of_target.order_by("is_apart", "created_at", "pk").first()
        return [each for each in (first, second) if each is not None]


class EmergentPairQuerySet(ConceptPairQuerySet["EmergentPair"]):
    ends = ("first", "second")

    def open(self) -> "EmergentPairQuerySet":
        """Pairs that are not dismissed and have no relationship in either direction."""
        forward = Relationship.objects.filter(source=OuterRef("first"), target=OuterRef("second"))
        backward = Relationship.objects.filter(source=OuterRef("second"), target=OuterRef("first"))
        return self.filter(~Exists(forward), ~Exists(backward), dismissed_at=None)

    def dismissed(self) -> "EmergentPairQuerySet":
        return self.exclude(dismissed_at=None)


class EmergentPair(models.Model):
    """Two concepts with similar vectors; ``first`` has the smaller id. A person decides whether a
    relationship is missing between them."""

    index_path = "first__index"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    first = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="+")
    similarity = models.FloatField(help_text="Cosine of their vectors in the live build.")
    found_at = models.DateTimeField(auto_now_add=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    unknown_error = UnknownEmergentPair

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
        """Due rows of an index, for current sources, that no worker holds."""
        due = self.filter(state=Extraction.State.DUE, source__is_current=True)
        return due.free().filter(source__artifact__index=index)


class Extraction(LeasedRow):
    """The state of concept extraction for one source: a queue row with a lease, and its result."""

    index_path = "source__artifact__index"

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
            index_of_leases("extraction_leased"),
            models.Index(fields=["state"], name="extraction_due", condition=Q(state="due")),
        ]

    def __str__(self) -> str:
        return f"concepts of {self.source}"
