"""Concepts and relationship types by meaning, each with what leads back to the text."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from concepts.models import Concept, Instance, Relationship, RelationshipType
from retrieval.knowledge.nearest import Nearest
from retrieval.search.hit_checks import Verdict

INSTANCES_SHOWN = 3  # of each concept; concepts/{id}/evidence has them all
EDGES_SHOWN = 10  # of each type


@dataclass(frozen=True, slots=True)
class Way:
    """How a thing was found. ``through``: the ids of what led there, if not its own meaning."""

    name: str  # concept, source, relationship_type
    similarity: float
    weight: float = 1.0
    through: Mapping[str, str] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return self.similarity * self.weight


@dataclass(frozen=True, slots=True)
class ConceptHit:
    """``ways``: the best of each sort, best first; the first gives the score. ``verdict`` None:
    it was read from the database, not from the vector store."""

    concept: Concept
    ways: list[Way]
    instances: list[Instance]
    verdict: Verdict | None = None

    @property
    def score(self) -> float:
        return self.ways[0].score


@dataclass(frozen=True, slots=True)
class TypeHit:
    type: RelationshipType
    way: Way
    edges: list[Relationship]
    verdict: Verdict | None


def search_concepts(
    nearest: Nearest, *, limit: int, offset: int = 0, min_similarity: float | None = None
) -> list[ConceptHit]:
    hits = nearest.find("concept", offset + limit, min_similarity=min_similarity)[offset:]
    ways = {hit.node_id: [Way("concept", hit.score)] for hit in hits}
    return load_concepts(ways, {hit.node_id: hit.verdict for hit in hits})


def search_types(
    nearest: Nearest,
    *,
    limit: int,
    offset: int = 0,
    min_similarity: float | None = None,
    edges_shown: int = EDGES_SHOWN,
) -> list[TypeHit]:
    """Relationship types, each with the first edges of it."""
    hits = nearest.find("relationship_type", offset + limit, min_similarity=min_similarity)
    hits = hits[offset:]
    types = RelationshipType.objects.select_related("artifact").in_bulk([h.node_id for h in hits])
    edges = _first_edges(types, edges_shown) if edges_shown else {}
    return [
        TypeHit(
            types[hit.node_id],
            Way("relationship_type", hit.score),
            edges.get(hit.node_id, []),
            hit.verdict,
        )
        for hit in hits
        if hit.node_id in types
    ]


def load_concepts(
    ways: Mapping[UUID, Sequence[Way]], verdicts: Mapping[UUID, Verdict | None] | None = None
) -> list[ConceptHit]:
    """The concepts found in these ways, best first; ties by id."""
    concepts = Concept.objects.select_related("artifact").in_bulk(list(ways))
    instances = first_instances(concepts, INSTANCES_SHOWN)
    hits = [
        ConceptHit(
            concept,
            sorted(ways[pk], key=lambda way: -way.score),
            instances.get(pk, []),
            (verdicts or {}).get(pk),
        )
        for pk, concept in concepts.items()
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.concept.pk))
    return hits


def first_instances(concept_ids: Collection[UUID], most: int) -> dict[UUID, list[Instance]]:
    """Concept -> its oldest quotes that stand, each with its source."""
    return _group(
        Instance.objects.standing().filter(concept__in=list(concept_ids)),
        "concept_id",
        most,
        ("artifact", "source"),
    )


def _first_edges(type_ids: Collection[UUID], most: int) -> dict[UUID, list[Relationship]]:
    edges = Relationship.objects.filter(type__in=list(type_ids))
    return _group(edges, "type_id", most, ("source", "type", "target"))


def _group(rows: Any, key: str, most: int, related: Sequence[str]) -> dict[UUID, list[Any]]:
    """The oldest rows of each ``key``, ``most`` at most."""
    place = Window(RowNumber(), partition_by=F(key), order_by=["created_at", "pk"])
    grouped: dict[UUID, list[Any]] = {}
    first = rows.order_by().annotate(place=place).filter(place__lte=most)
    for row in first.select_related(*related).order_by("place"):
        grouped.setdefault(getattr(row, key), []).append(row)
    return grouped
