"""Routes a query to its best entry point, and blends concept hits found in several ways."""

from dataclasses import dataclass
from uuid import UUID

from concepts.models import Concept, Instance
from retrieval.knowledge.concepts import (
    ConceptHit,
    MatchReason,
    RelationshipTypeHit,
    load_concepts,
    search_concepts,
    search_relationship_types,
)
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.knowledge.sources import SourceHit, search_sources

_MAX_EDGES_PER_TYPE = 100  # for each matching type
_CANDIDATES_PER_KIND = 100  # hits of each kind that a blend considers


@dataclass(frozen=True, slots=True)
class RoutingResult:
    """Hits of one query by kind. All share one embedding space, so similarities are comparable."""

    concepts: list[ConceptHit]
    sources: list[SourceHit]
    types: list[RelationshipTypeHit]

    @property
    def best_entry_point(self) -> tuple[str, UUID, float] | None:
        """Kind, id and similarity of the best hit. On a tie the concept wins, then the source."""
        best = [("concept", hit.concept.pk, hit.score) for hit in self.concepts[:1]]
        best += [("source", hit.source_id, hit.similarity) for hit in self.sources[:1]]
        best += [("relationship_type", hit.type.pk, hit.reason.score) for hit in self.types[:1]]
        return max(best, key=lambda each: each[2], default=None)


@dataclass(frozen=True, slots=True)
class BlendWeights:
    concept: float
    source: float
    relationship: float


def route_query(
    nearest: KnowledgeQuery, *, limit: int, min_similarity: float | None = None
) -> RoutingResult:
    return RoutingResult(
        search_concepts(nearest, limit=limit, min_similarity=min_similarity),
        search_sources(nearest, limit=limit, min_similarity=min_similarity),
        search_relationship_types(nearest, limit=limit, min_similarity=min_similarity),
    )


def blend_concepts(
    nearest: KnowledgeQuery,
    *,
    limit: int,
    weights: BlendWeights,
    min_similarity: float | None = None,
) -> list[ConceptHit]:
    """Find concepts by three weighted similarities: of the concept itself, of the sources that
    quote it, and of its relationships' types. Each concept appears once, with its best weighted
    score; scores are not added."""
    best: dict[UUID, dict[str, MatchReason]] = {}

    def keep_best_reason(concept_id: UUID, way: MatchReason) -> None:
        ways = best.setdefault(concept_id, {})
        if way.name not in ways or way.score > ways[way.name].score:
            ways[way.name] = way

    verdicts = {}
    for hit in nearest.find("concept", _CANDIDATES_PER_KIND, min_similarity=min_similarity):
        verdicts[hit.node_id] = hit.verdict
        keep_best_reason(hit.node_id, MatchReason("concept", hit.score, weights.concept))
    sources = search_sources(nearest, limit=_CANDIDATES_PER_KIND, min_similarity=min_similarity)
    similarities = {hit.source_id: hit.similarity for hit in sources}
    instances = Instance.objects.not_lost().filter(source__in=list(similarities))
    if not nearest.grant.sees_all_documents:
        instances = instances.filter(concept__in=Concept.objects.visible_to(nearest.grant))
    for concept_id, source_id in (
        instances.order_by().values_list("concept_id", "source_id").distinct()
    ):
        assert source_id is not None
        through = {"source": str(source_id)}
        keep_best_reason(
            concept_id, MatchReason("source", similarities[source_id], weights.source, through)
        )
    for found in search_relationship_types(
        nearest,
        limit=_CANDIDATES_PER_KIND,
        min_similarity=min_similarity,
        edges_shown=_MAX_EDGES_PER_TYPE,
    ):
        for edge in found.edges:
            through = {"relationship_type": str(found.type.pk), "relationship": str(edge.pk)}
            way = MatchReason(
                "relationship_type", found.reason.similarity, weights.relationship, through
            )
            keep_best_reason(edge.source_id, way)
            keep_best_reason(edge.target_id, way)
    ranked = sorted(best, key=lambda pk: (-max(way.score for way in best[pk].values()), pk))
    reasons = {pk: list(best[pk].values()) for pk in ranked[:limit]}
    return load_concepts(reasons, nearest.grant, verdicts)
