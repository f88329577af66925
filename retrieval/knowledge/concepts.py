"""Searches concepts and relationship types by meaning, with quotes and relationships."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from access.grants import Grant
from concepts.models import Concept, Instance, Relationship, RelationshipType
from retrieval.fusion import comb_sum
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.search.hit_checks import Verdict
from retrieval.search.request import SearchOptions
from retrieval.search.run import Hit

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
class ConceptHit:
    """``reasons``: the best of each name, best first; their scores are added. ``verdict`` is None
    if the concept was read from the database, not from the vector store."""

    concept: Concept
    reasons: list[MatchReason]
    instances: list[Instance]
    verdict: Verdict | None = None

    @property
    def score(self) -> float:
        return comb_sum([reason.score for reason in self.reasons])


@dataclass(frozen=True, slots=True)
class RelationshipTypeHit:
    type: RelationshipType
    reason: MatchReason
    edges: list[Relationship]
    verdict: Verdict | None


def search_concepts(knowledge_query: KnowledgeQuery, options: SearchOptions) -> list[ConceptHit]:
    hits = _find_page(knowledge_query, "concept", options)
    reasons = {hit.node_id: [MatchReason("concept", hit.score)] for hit in hits}
    return load_concepts(reasons, knowledge_query.grant, {hit.node_id: hit.verdict for hit in hits})


def search_relationship_types(
    knowledge_query: KnowledgeQuery,
    options: SearchOptions,
    *,
    edges_shown: int = MAX_EDGES_SHOWN,
) -> list[RelationshipTypeHit]:
    """Find relationship types, each with its first ``edges_shown`` relationships."""
    hits = _find_page(knowledge_query, "relationship_type", options)
    types = RelationshipType.objects.in_bulk([h.node_id for h in hits])
    edges = _load_first_edges(types, edges_shown, knowledge_query.grant) if edges_shown else {}
    return [
        RelationshipTypeHit(
            types[hit.node_id],
            MatchReason("relationship_type", hit.score),
            edges.get(hit.node_id, []),
            hit.verdict,
        )
        for hit in hits
        if hit.node_id in types
    ]


def _find_page(knowledge_query: KnowledgeQuery, kind: str, options: SearchOptions) -> list[Hit]:
    end = options.offset + options.limit
    found = knowledge_query.find(kind, end, min_similarity=options.min_similarity)
    return found[options.offset :]


def load_concepts(
    reasons: Mapping[UUID, Sequence[MatchReason]],
    grant: Grant,
    verdicts: Mapping[UUID, Verdict | None] | None = None,
) -> list[ConceptHit]:
    """Load the visible concepts as hits, best first; ties by id."""
    concepts = Concept.objects.visible_to(grant).in_bulk(list(reasons))
    instances = load_first_instances(concepts, MAX_INSTANCES_SHOWN)
    hits = [
        ConceptHit(
            concept,
            sorted(reasons[pk], key=lambda reason: -reason.score),
            instances.get(pk, []),
            (verdicts or {}).get(pk),
        )
        for pk, concept in concepts.items()
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.concept.pk))
    return hits


def load_first_instances(concept_ids: Collection[UUID], limit: int) -> dict[UUID, list[Instance]]:
    """The oldest quotes of each concept that are not lost, each with its source."""
    return _load_first_per_group(
        Instance.objects.not_lost().filter(concept__in=list(concept_ids)),
        "concept_id",
        limit,
        ("artifact", "source"),
    )


def _load_first_edges(
    type_ids: Collection[UUID], limit: int, grant: Grant
) -> dict[UUID, list[Relationship]]:
    edges = Relationship.objects.visible_to(grant).filter(type__in=list(type_ids))
    return _load_first_per_group(edges, "type_id", limit, ("source", "type", "target"))


def _load_first_per_group(
    rows: Any, key: str, limit: int, related: Sequence[str]
) -> dict[UUID, list[Any]]:
    """The oldest rows of each ``key``, ``limit`` at most."""
    place = Window(RowNumber(), partition_by=F(key), order_by=["created_at", "pk"])
    grouped: dict[UUID, list[Any]] = {}
    first = rows.order_by().annotate(place=place).filter(place__lte=limit)
    for row in first.select_related(*related).order_by("place"):
        grouped.setdefault(getattr(row, key), []).append(row)
    return grouped
