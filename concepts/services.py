"""Writes to concepts, the vocabulary and relationships. Nothing here enqueues work."""

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import IntegrityError, transaction

from access.grants import EVERYTHING, Grant
from concepts.exceptions import HiddenRelationships, UnknownConcept, UnknownRelationshipType
from concepts.models import (
    Concept,
    Entity,
    Instance,
    InstanceQuerySet,
    Relationship,
    RelationshipQuerySet,
    RelationshipType,
    normalise_name,
)
from core.exceptions import InvalidInput
from documents.exceptions import ContentConflict
from documents.services import assign_next_revision
from indexing.models import IndexBuild

MAX_LABEL_CHARS = 300
MAX_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 5_000
MAX_SEARCH_TERMS = 50


def require_concept_index(index: str) -> None:
    """
    Raises:
        InvalidInput: no build of the index holds concepts.
    """
    builds = IndexBuild.objects.not_retired()
    if not any(each.spec.concepts for each in builds.filter(index=index).readable()):
        raise InvalidInput(
            f"The index {index} holds no concepts.",
            field="index",
            allowed={each.index_id for each in builds.readable() if each.spec.concepts},
            fix="Set concepts: true in its spec.",
        )


# --- Concepts --------------------------------------------------------------------------------


@transaction.atomic
def create_concept(
    index: str, label: str, *, description: str = "", search_terms: Sequence[str] = ()
) -> Concept:
    """
    Raises:
        ContentConflict: the index has a concept with this label, ignoring case.
        InvalidInput: the index holds no concepts, or a text is too long or blank.
    """
    require_concept_index(index)
    label = _clean_name(label, "label", MAX_LABEL_CHARS)
    terms, description = clean_search_terms(search_terms), _clean_description(description)
    concept = Concept(index=index, label=label, description=description, search_terms=terms)
    _save_entity(concept)
    return concept


@transaction.atomic
def edit_concept(
    concept_id: UUID,
    *,
    label: str | None = None,
    description: str | None = None,
    search_terms: Sequence[str] | None = None,
) -> Concept:
    """Change the given fields.

    Raises:
        UnknownConcept: there is no concept with this id.
        ContentConflict, InvalidInput: as for ``create_concept``.
    """
    concept = lock_concept(concept_id)
    if label is not None:
        concept.label = _clean_name(label, "label", MAX_LABEL_CHARS)
    if description is not None:
        concept.description = _clean_description(description)
    if search_terms is not None:
        concept.search_terms = clean_search_terms(search_terms)
    _save_entity(concept)
    return concept


def remove_concept(concept_id: UUID, grant: Grant = EVERYTHING) -> int:
    """Delete a concept with its instances and relationships; return the revision of the deletion.

    Raises:
        UnknownConcept: there is no concept with this id.
        HiddenRelationships: the grant does not include one of its relationships.
    """
    with transaction.atomic():
        concept = lock_concept(concept_id)
        _require_visible(Relationship.objects.involving(concept_id), grant)
        return _remove_entity(concept)


@transaction.atomic
def merge_concepts(target_id: UUID, merged_ids: Collection[UUID]) -> Concept:
    """Merge concepts into one: it gets the others' evidence and relationships, and their labels
    as search terms; the others are deleted.

    Relationships among the merged concepts are deleted; of duplicate relationships one is kept.

    Raises:
        UnknownConcept: there is no concept with one of these ids.
        InvalidInput: the concepts belong to several indexes, or only the target is given.
    """
    others = sorted(set(merged_ids) - {target_id})
    if not others:
        raise InvalidInput(
            "concepts must name at least one other concept to merge into this one.",
            field="concepts",
        )
    locked = {each: lock_concept(each) for each in sorted([target_id, *others])}
    target = locked.pop(target_id)
    if any(each.index != target.index for each in locked.values()):
        raise InvalidInput("concepts must all belong to one index.", field="concepts")
    terms = [*target.search_terms]
    for merged in locked.values():
        terms += [merged.label, *merged.search_terms]
        target.description = target.description or merged.description
        target.is_restricted = target.is_restricted or merged.is_restricted
    target.search_terms = _remove_duplicate_terms(terms, excluded_term=target.label)[
        :MAX_SEARCH_TERMS
    ]
    _move_instances(target, others)
    _move_relationships(target, others)
    for merged in locked.values():
        _remove_entity(merged)
    _save_entity(target)
    return target


def find_concept(index: str, label: str) -> Concept | None:
    """Find the index's concept by its label, ignoring case."""
    return Concept.objects.named(index, label).first()


def lock_concept(concept_id: UUID) -> Concept:
    """Read a concept and lock its row until the transaction ends.

    Raises:
        UnknownConcept: there is no concept with this id.
    """
    concept = Concept.objects.select_for_update().filter(pk=concept_id).first()
    if concept is None:
        raise UnknownConcept(field="id")
    return concept


def _move_instances(target: Concept, others: Sequence[UUID]) -> None:
    places = ("source_id", "start_offset", "end_offset")
    occupied = set(target.instances.exclude(source=None).values_list(*places))
    for instance in Instance.objects.filter(concept__in=others).order_by("created_at", "pk"):
        place = (instance.source_id, instance.start_offset, instance.end_offset)
        if instance.source_id is not None and place in occupied:
            continue  # deleted together with its concept
        occupied.add(place)
        Instance.objects.filter(pk=instance.pk).update(concept=target)


def _move_relationships(target_concept: Concept, others: Sequence[UUID]) -> None:
    ends = {target_concept.pk, *others}
    moved = Relationship.objects.filter(source__in=ends) | Relationship.objects.filter(
        target__in=ends
    )
    kept_edges: dict[tuple[UUID, UUID, UUID], Relationship] = {}
    for edge in moved.order_by("created_at", "pk"):
        source = target_concept.pk if edge.source_id in ends else edge.source_id
        target = target_concept.pk if edge.target_id in ends else edge.target_id
        if source != target:
            kept_edges.setdefault((source, edge.type_id, target), edge)
    Relationship.objects.filter(pk__in=[edge.pk for edge in moved]).exclude(
        pk__in=[edge.pk for edge in kept_edges.values()]
    ).delete()
    for (source, _, target), edge in kept_edges.items():
        Relationship.objects.filter(pk=edge.pk).update(source=source, target=target)


# --- Relationship types ----------------------------------------------------------------------


@transaction.atomic
def create_relationship_type(
    index: str, name: str, *, category: str = "", description: str = ""
) -> RelationshipType:
    """
    Raises:
        ContentConflict: the index has a type with this name, ignoring case.
        InvalidInput: the index holds no concepts, or a text is too long or blank.
    """
    require_concept_index(index)
    name = _clean_name(name, "name", MAX_NAME_CHARS)
    description = _clean_description(description)
    relationship_type = RelationshipType(
        index=index, name=name, category=_clean_category(category), description=description
    )
    _save_entity(relationship_type)
    return relationship_type


@transaction.atomic
def edit_relationship_type(
    type_id: UUID,
    *,
    name: str | None = None,
    category: str | None = None,
    description: str | None = None,
) -> RelationshipType:
    """Change the given fields.

    Raises:
        UnknownRelationshipType: there is no relationship type with this id.
        ContentConflict, InvalidInput: as for ``create_relationship_type``.
    """
    relationship_type = _lock_type(type_id)
    if name is not None:
        relationship_type.name = _clean_name(name, "name", MAX_NAME_CHARS)
    if category is not None:
        relationship_type.category = _clean_category(category)
    if description is not None:
        relationship_type.description = _clean_description(description)
    _save_entity(relationship_type)
    return relationship_type


def remove_relationship_type(type_id: UUID, grant: Grant = EVERYTHING) -> int:
    """Delete a type with its relationships; return the revision of the deletion.

    Raises:
        UnknownRelationshipType: there is no relationship type with this id.
        HiddenRelationships: the grant does not include one of its relationships.
    """
    with transaction.atomic():
        relationship_type = _lock_type(type_id)
        _require_visible(Relationship.objects.filter(type=type_id), grant)
        return _remove_entity(relationship_type)


def find_relationship_type(index: str, name: str) -> RelationshipType | None:
    """Find the index's relationship type by its name, ignoring case."""
    return RelationshipType.objects.named(index, name).first()


def _lock_type(type_id: UUID) -> RelationshipType:
    relationship_type = RelationshipType.objects.select_for_update().filter(pk=type_id).first()
    if relationship_type is None:
        raise UnknownRelationshipType(field="id")
    return relationship_type


# --- Relationships ---------------------------------------------------------------------------


@transaction.atomic
def relate_concepts(
    index: str, source_id: UUID, type_id: UUID, target_id: UUID, grant: Grant = EVERYTHING
) -> tuple[Relationship, bool]:
    """Create the relationship of two concepts unless it exists; return it and whether it is new.

    Raises:
        InvalidInput: the index does not have a concept or the type, which the error names, or
            source and target are the same concept.
    """
    if source_id == target_id:
        raise InvalidInput("A concept cannot have a relationship with itself.", field="target")
    for field, concept_id in (("source", source_id), ("target", target_id)):
        concepts = Concept.objects.visible_to(grant).of_index(index)
        if not concepts.filter(pk=concept_id).exists():
            raise InvalidInput(f"The index {index} has no concept {concept_id}.", field=field)
    types = RelationshipType.objects.visible_to(grant)
    if not types.filter(pk=type_id, index=index).exists():
        raise InvalidInput(f"The index {index} has no relationship type {type_id}.", field="type")
    return Relationship.objects.get_or_create(
        source_id=source_id, type_id=type_id, target_id=target_id
    )


# --- Visibility ------------------------------------------------------------------------------


def restrict_concepts_of(instances: InstanceQuerySet) -> None:
    """Mark the concepts of those instances that quote documents with groups, so that the concepts
    stay hidden after the instances are deleted."""
    quoted = instances.exclude(artifact__groups=[]).values("concept")
    Concept.objects.filter(pk__in=quoted).update(is_restricted=True)


# --- Saving and deleting ---------------------------------------------------------------------


def _save_entity(entity: Entity) -> None:
    """Save a concept or relationship type as its next revision.

    Raises:
        ContentConflict: its index has another entity with this name.
    """
    assign_next_revision(entity)
    try:
        with transaction.atomic():
            entity.save()
    except IntegrityError:
        others = type(entity)._default_manager.filter(
            index=entity.index, name_hash=entity.name_hash
        )
        if not others.exclude(pk=entity.pk).exists():
            raise
        raise ContentConflict(
            f"The index {entity.index} already has a {entity._meta.verbose_name} named "
            f"{str(entity)!r}.",
            fix="Change that one, or merge the two.",
        ) from None


def _require_visible(edges: RelationshipQuerySet, grant: Grant) -> None:
    if edges.visible_to(grant).count() < edges.count():
        raise HiddenRelationships(
            field="id", fix="Someone who sees all documents of the index can delete it."
        )


def _remove_entity(entity: Entity) -> int:
    assign_next_revision(entity)
    entity.delete()
    return entity.revision


# --- Cleaning texts --------------------------------------------------------------------------


def _clean_name(name: str, field: str, max_chars: int) -> str:
    cleaned = " ".join(name.split())
    if not cleaned:
        raise InvalidInput(f"{field} must not be blank.", field=field)
    if len(cleaned) > max_chars:
        raise InvalidInput(f"{field} must have at most {max_chars} characters.", field=field)
    return cleaned


def _clean_category(category: str) -> str:
    cleaned = " ".join(category.lower().split())
    if len(cleaned) > 60:
        raise InvalidInput("category must have at most 60 characters.", field="category")
    return cleaned


def _clean_description(description: str) -> str:
    cleaned = description.strip()
    if len(cleaned) > MAX_DESCRIPTION_CHARS:
        raise InvalidInput(
            f"description must have at most {MAX_DESCRIPTION_CHARS} characters.",
            field="description",
        )
    return cleaned


def clean_search_terms(terms: Sequence[str]) -> list[str]:
    """
    Raises:
        InvalidInput: there are too many terms, or one is blank or too long.
    """
    cleaned = _remove_duplicate_terms(
        _clean_name(term, f"search_terms.{position}", MAX_LABEL_CHARS)
        for position, term in enumerate(terms)
    )
    if len(cleaned) > MAX_SEARCH_TERMS:
        raise InvalidInput(
            f"search_terms must hold at most {MAX_SEARCH_TERMS} terms.", field="search_terms"
        )
    return cleaned


def _remove_duplicate_terms(terms: Iterable[str], *, excluded_term: str = "") -> list[str]:
    seen: dict[str, str] = {}
    for term in terms:
        seen.setdefault(normalise_name(term), term)
    seen.pop(normalise_name(excluded_term), None)
    return list(seen.values())
