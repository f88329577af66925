"""Searches concepts and relationship types by meaning, with quotes and relationships."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from access.grants import Grant
from concepts.models import Concept, Instance, Relationship, RelationshipType
from retrieval.fusion import comb_sum
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.search.hit_checks import Verdict
from retrieval.search.request import SearchOptions

MAX_INSTANCES_SHOWN = 3  # per concept; concepts/{id}/evidence returns all
MAX_EDGES_SHOWN = 10  # per type


@dataclass(frozen=True, slots=True)
class MatchReason:
    """How a hit was found. ``through``: the ids that led to it; empty if its own text matched."""

    name: str  # concept, source, relationship_type
    similarity: float
    weight: float = 1.0
    through: Mapping[str, str] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return self.similarity * self.weight


@dataclass(frozen=True, slots=True)
class EntityHit:
    """``reasons``: the best of each name, best first; their scores are added. ``verdict`` is None
    if the entity was read from the database, not from the vector store."""

    kind: ClassVar[str]
    entity: Concept | RelationshipType
    reasons: list[MatchReason]
    verdict: Verdict | None

    @property
    def score(self) -> float:
        return comb_sum([reason.score for reason in self.reasons])


@dataclass(frozen=True, slots=True)
class ConceptHit(EntityHit):
    kind = "concept"
    entity: Concept
    instances: list[Instance]


@dataclass(frozen=True, slots=True)
class RelationshipTypeHit(EntityHit):
    kind = "relationship_type"
    entity: RelationshipType
    edges: list[Relationship]


def search_concepts(knowledge_query: KnowledgeQuery, options: SearchOptions) -> list[ConceptHit]:
    hits = knowledge_query.find("concept", options)
    reasons = {hit.node_id: [MatchReason("concept", hit.score)] for hit in hits}
    return load_concepts(reasons, knowledge_query.grant, {hit.node_id: hit.verdict for hit in hits})


def search_relationship_types(
    knowledge_query: KnowledgeQuery,
    options: SearchOptions,
    *,
    edges_shown: int = MAX_EDGES_SHOWN,
) -> list[RelationshipTypeHit]:
    """Find relationship types, each with its first ``edges_shown`` relationships."""
    hits = knowledge_query.find("relationship_type", options)
    types = RelationshipType.objects.in_bulk([h.node_id for h in hits])
    edges = Relationship.objects.visible_to(knowledge_query.grant).filter(type__in=list(types))
    first_edges = _load_first_of_each(edges.with_concepts_and_type(), "type_id", edges_shown)
    return [
        RelationshipTypeHit(
            types[hit.node_id],
            [MatchReason("relationship_type", hit.score)],
            hit.verdict,
            first_edges.get(hit.node_id, []),
        )
        for hit in hits
        if hit.node_id in types
    ]


def load_concepts(
    reasons: Mapping[UUID, Sequence[MatchReason]],
    grant: Grant,
    verdicts: Mapping[UUID, Verdict | None],
) -> list[ConceptHit]:
    """Load the visible concepts as hits, best first; ties by id."""
    concepts = Concept.objects.visible_to(grant).in_bulk(list(reasons))
    quotes = Instance.objects.not_lost().filter(concept__in=list(concepts))
    first_quotes = _load_first_of_each(
        quotes.select_related("artifact", "source"), "concept_id", MAX_INSTANCES_SHOWN
    )
    hits = [
        ConceptHit(
            concept,
            sorted(reasons[pk], key=lambda reason: -reason.score),
            verdicts.get(pk),
            first_quotes.get(pk, []),
        )
        for pk, concept in concepts.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.entity.pk))


def _load_first_of_each(rows: QuerySet[Any], key: str, limit: int) -> dict[UUID, list[Any]]:
    """The oldest rows of each ``key``, ``limit`` at most."""
    if not limit:
        return {}
    place = Window(RowNumber(), partition_by=F(key), order_by=["created_at", "pk"])
    grouped: dict[UUID, list[Any]] = {}
    for row in rows.order_by().annotate(place=place).filter(place__lte=limit).order_by("place"):
        grouped.setdefault(getattr(row, key), []).append(row)
    return grouped
