"""Finds what several concepts share: relationships, neighbours, and sources that quote them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from access.grants import Grant
from concepts.knowledge.sources import group_by_source, list_sources
from concepts.models import Concept, Instance, Relationship
from core.exceptions import InvalidInput
from documents.models import Source

MAX_RELATIONSHIPS_READ = 10_000  # of the given concepts


@dataclass(frozen=True, slots=True)
class SharedNeighbour:
    """A concept with relationships to two or more of the given ones."""

    concept: Concept
    given: list[Concept]
    edges: list[Relationship]


@dataclass(frozen=True, slots=True)
class SharedSource:
    """A source with quotes of two or more of the given concepts."""

    source: Source
    quotes: list[Instance]


@dataclass(frozen=True, slots=True)
class SharedContext:
    """What the concepts share, with the number of all neighbours and of all sources."""

    concepts: list[Concept]
    edges: list[Relationship]  # between two of them
    neighbours: list[SharedNeighbour]
    neighbour_count: int
    sources: list[SharedSource]
    source_count: int


def find_shared(ids: Sequence[UUID], grant: Grant, *, limit: int) -> SharedContext:
    """Find what visible concepts of one index share: at most ``limit`` neighbours and sources,
    those of most of the concepts first.

    Raises:
        UnknownConcept: the grant includes no concept with one of these ids.
        InvalidInput: fewer than two concepts, or of several indexes.
    """
    ids = list(dict.fromkeys(ids))
    if len(ids) < 2:
        raise InvalidInput("ids must name two or more concepts.", field="ids")
    found = Concept.objects.visible_to(grant).in_bulk(ids)
    if len(found) < len(ids):
        raise Concept.unknown_error(field="ids")
    concepts = [found[pk] for pk in ids]
    if len({concept.index for concept in concepts}) > 1:
        raise InvalidInput("ids must name concepts of one index.", field="ids")
    rows = Relationship.objects.visible_to(grant).with_concepts_and_type().involving(ids)
    edges = list(rows.inside_first(ids)[:MAX_RELATIONSHIPS_READ])
    neighbours = _group_by_neighbour(edges, found)
    quotes = Instance.objects.not_lost().filter(concept__in=ids).exclude(source=None).order_by()
    counts = quotes.values("source").annotate(count=Count("concept", distinct=True))
    shared = counts.filter(count__gte=2)
    best = list(shared.order_by("-count", "source").values_list("source", flat=True)[:limit])
    by_id = list_sources().in_bulk(best)
    instances = group_by_source(quotes.filter(source__in=best))
    return SharedContext(
        concepts,
        [edge for edge in edges if {edge.source_id, edge.target_id} <= found.keys()],
        neighbours[:limit],
        len(neighbours),
        [SharedSource(by_id[pk], instances[pk]) for pk in best if pk in by_id],
        shared.count(),
    )


def _group_by_neighbour(
    edges: Sequence[Relationship], given: dict[UUID, Concept]
) -> list[SharedNeighbour]:
    """The concepts at the other ends, those of most of the given concepts first."""
    neighbours: dict[UUID, SharedNeighbour] = {}
    for edge in edges:
        for end, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if end.pk in given and other.pk not in given:
                neighbour = neighbours.setdefault(other.pk, SharedNeighbour(other, [], []))
                neighbour.edges.append(edge)
                if end not in neighbour.given:
                    neighbour.given.append(end)
    shared = [each for each in neighbours.values() if len(each.given) > 1]
    return sorted(shared, key=lambda each: (-len(each.given), each.concept.label))
