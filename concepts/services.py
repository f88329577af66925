"""Writes to concepts, the vocabulary and relationships. Nothing here enqueues work."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import IntegrityError, transaction

from access.grants import EVERYTHING, Grant
from concepts.exceptions import HiddenRelationships
from concepts.models import (
    Concept,
    Entity,
    Instance,
    QuoteQuerySet,
    Relationship,
    RelationshipType,
    hash_name,
    normalise_name,
)
from concepts.spec import ConceptSpec
from core.exceptions import InvalidInput
from core.text import clean_name
from documents.exceptions import ContentConflict
from documents.groups import require_all_visible
from documents.services import assign_next_revision
from indexing.models import IndexBuild

MAX_CHARS = {"label": 300, "name": 200, "category": 60, "description": 5_000}
MAX_SEARCH_TERMS = 50
OPTIONAL_TEXTS = ("category", "description")

E = TypeVar("E", bound=Entity)


def list_concept_indexes(**only: Any) -> set[str]:
    """The indexes that hold concepts, among those whose builds match ``only``."""
    builds = IndexBuild.objects.not_retired().filter(**only).readable()
    return {build.index_id for build in builds if ConceptSpec.of(build.spec)}


# --- Concepts and relationship types ---------------------------------------------------------


def create_concept(index: str, label: str, **texts: Any) -> Concept:
    return create_entity(Concept, index, label=label, **texts)


def create_relationship_type(index: str, name: str, **texts: Any) -> RelationshipType:
    return create_entity(RelationshipType, index, name=name, **texts)


@transaction.atomic
def create_entity(model: type[E], index: str, **texts: Any) -> E:
    """Create a concept or a relationship type.

    Raises:
        ContentConflict: the index has one with this name, ignoring case.
        InvalidInput: the index holds no concepts, or a text is too long or blank.
    """
    if not list_concept_indexes(index=index):
        raise InvalidInput(
            f"The index {index} holds no concepts.",
            field="index",
            allowed=list_concept_indexes(),
            fix="Set concepts: true in its spec.",
        )
    return _save_entity(model(index=index, **_clean_texts(texts)))


@transaction.atomic
def edit_entity(model: type[E], entity_id: UUID, grant: Grant = EVERYTHING, **texts: Any) -> E:
    """Change the given fields.

    Raises:
        UnknownConcept, UnknownRelationshipType: the grant includes none with this id.
        ContentConflict, InvalidInput: as for ``create_entity``.
    """
    entity = lock_entity(model, entity_id, grant)
    for field, text in _clean_texts(texts).items():
        setattr(entity, field, text)
    return _save_entity(entity)


@transaction.atomic
def remove_entity(model: type[Entity], entity_id: UUID, grant: Grant = EVERYTHING) -> int:
    """Delete a concept with its quotes and relationships, or a type with its relationships;
    return the revision of the deletion.

    Raises:
        UnknownConcept, UnknownRelationshipType: the grant includes none with this id.
        HiddenRelationships: the grant does not include one of its relationships.
    """
    entity = lock_entity(model, entity_id, grant)
    require_all_visible(entity.relationships, grant, HiddenRelationships)
    return _delete_entity(entity)


def find_entity(model: type[E], index: str, name: str) -> E | None:
    """Find the index's concept or relationship type by its name, ignoring case."""
    return model._default_manager.filter(index=index, name_hash=hash_name(name)).first()


def lock_entity(model: type[E], entity_id: UUID, grant: Grant = EVERYTHING) -> E:
    """Read a concept or relationship type, and lock its row until the transaction ends. Raises
    ``UnknownConcept`` and ``UnknownRelationshipType``: the grant includes none with this id."""
    rows: Any = model._default_manager.select_for_update()
    return cast(E, rows.require(entity_id, grant))


def _save_entity(entity: E) -> E:
    """Save a concept or relationship type as its next revision. Raises ``ContentConflict``: its
    index has another entity with this name."""
    assign_next_revision(entity)
    try:
        with transaction.atomic():
            entity.save()
    except IntegrityError:
        named = find_entity(type(entity), entity.index, str(entity))
        if named is None or named.pk == entity.pk:
            raise
        raise ContentConflict(
            f"The index {entity.index} already has a {entity._meta.verbose_name} named "
            f"{str(entity)!r}.",
            fix="Change that one, or merge the two.",
        ) from None
    return entity


def _delete_entity(entity: Entity) -> int:
    assign_next_revision(entity)
    entity.delete()
    return entity.revision


def _clean_texts(texts: dict[str, Any]) -> dict[str, Any]:
    return {
        field: _clean_search_terms(text)
        if field == "search_terms"
        else _clean_text(field, text, MAX_CHARS[field])
        for field, text in texts.items()
    }


def _clean_text(field: str, text: str, max_chars: int) -> str:
    text = clean_name(text)
    cleaned = text.strip() if field == "description" else " ".join(text.split())
    if not cleaned and field not in OPTIONAL_TEXTS:
        raise InvalidInput(f"{field} must not be blank.", field=field)
    if len(cleaned) > max_chars:
        raise InvalidInput(f"{field} must have at most {max_chars} characters.", field=field)
    return cleaned.lower() if field == "category" else cleaned


def _clean_search_terms(terms: Sequence[str]) -> list[str]:
    cleaned = _remove_duplicate_terms(
        _clean_text(f"search_terms.{position}", term, MAX_CHARS["label"])
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


# --- Merging ---------------------------------------------------------------------------------


@transaction.atomic
def merge_concepts(
    target_id: UUID, merged_ids: Collection[UUID], grant: Grant = EVERYTHING
) -> Concept:
    """Merge concepts into one: it gets the others' quotes and relationships, and their labels
    as search terms; the others are deleted.

    Relationships among the merged concepts are deleted; of duplicate relationships one is kept.

    Raises:
        UnknownConcept: the grant includes no concept with one of these ids.
        InvalidInput: the concepts belong to several indexes, or only the target is given.
        HiddenRelationships: the grant does not include a relationship of the others.
    """
    others = sorted(set(merged_ids) - {target_id})
    if not others:
        raise InvalidInput(
            "concepts must name at least one other concept to merge into this one.",
            field="concepts",
        )
    locked = {each: lock_entity(Concept, each, grant) for each in sorted([target_id, *others])}
    target = locked.pop(target_id)
    if any(each.index != target.index for each in locked.values()):
        raise InvalidInput("concepts must all belong to one index.", field="concepts")
    require_all_visible(Relationship.objects.involving(others), grant, HiddenRelationships)
    terms = [*target.search_terms]
    for merged in locked.values():
        terms += [merged.label, *merged.search_terms]
        target.description = target.description or merged.description
        target.is_restricted = target.is_restricted or merged.is_restricted
    target.search_terms = _remove_duplicate_terms(terms, excluded_term=target.label)[
        :MAX_SEARCH_TERMS
    ]
    _move_quotes(target, others)
    _move_relationships(target, others)
    for merged in locked.values():
        _delete_entity(merged)
    return _save_entity(target)


def _move_quotes(target: Concept, others: Sequence[UUID]) -> None:
    places = ("source_id", "start_offset", "end_offset")
    occupied = set(target.quotes.exclude(source=None).values_list(*places))
    for instance in Instance.objects.filter(concept__in=others).order_by("created_at", "pk"):
        place = (instance.source_id, instance.start_offset, instance.end_offset)
        if instance.source_id is not None and place in occupied:
            continue  # deleted together with its concept
        occupied.add(place)
        Instance.objects.filter(pk=instance.pk).update(concept=target)


def _move_relationships(target_concept: Concept, others: Sequence[UUID]) -> None:
    ends = {target_concept.pk, *others}
    moved = Relationship.objects.involving(ends)
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
        concepts = Concept.objects.visible_to(grant)
        if not concepts.filter(pk=concept_id, index=index).exists():
            raise InvalidInput(f"The index {index} has no concept {concept_id}.", field=field)
    types = RelationshipType.objects.visible_to(grant)
    if not types.filter(pk=type_id, index=index).exists():
        raise InvalidInput(f"The index {index} has no relationship type {type_id}.", field="type")
    return Relationship.objects.get_or_create(
        source_id=source_id, type_id=type_id, target_id=target_id
    )


# --- Quotes ----------------------------------------------------------------------------------


def remove_quotes(quotes: QuoteQuerySet) -> int:
    """Delete quotes; return how many. Concepts of quotes from documents with groups stay hidden."""
    restrict_concepts_of(quotes)
    count, _ = quotes.delete()
    return count


def restrict_concepts_of(quotes: QuoteQuerySet) -> None:
    """Mark the concepts of those quotes that are from documents with groups, so that the concepts
    stay hidden after the quotes are deleted."""
    quoted = quotes.exclude(artifact__groups=[]).values("concept")
    Concept.objects.filter(pk__in=quoted).update(is_restricted=True)
