"""Routes a query to its best entry point, and blends concept hits found in several ways."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from concepts.models import Concept, Instance
from retrieval.fusion import comb_sum
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
from retrieval.search.request import Mode, SearchOptions

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
        # The mode ranks the sources, so the first need not be the most similar.
        best += [("source", hit.source_id, hit.similarity) for hit in self.sources]
        best += [("relationship_type", hit.type.pk, hit.reason.score) for hit in self.types[:1]]
        # The store's cosines of equal vectors differ in the last digits.
        return max(best, key=lambda each: round(each[2], 6), default=None)


@dataclass(frozen=True, slots=True)
class BlendWeights:
    concept: float
    source: float
    relationship: float


def route_query(
    knowledge_query: KnowledgeQuery,
    *,
    concepts: SearchOptions,
    sources: SearchOptions,
    types: SearchOptions,
    window: int = 0,
    with_concepts: bool = False,
) -> RoutingResult:
    """``window`` and ``with_concepts`` apply to the sources."""
    return RoutingResult(
        search_concepts(knowledge_query, concepts),
        search_sources(knowledge_query, sources, window=window, with_concepts=with_concepts),
        search_relationship_types(knowledge_query, types),
    )


def blend_concepts(
    knowledge_query: KnowledgeQuery, options: SearchOptions, weights: BlendWeights
) -> list[ConceptHit]:
    """Find concepts by three weighted similarities: of the concept itself, of the sources that
    quote it, and of its relationships' types. Only the best of each of the three counts, so the
    amount of evidence has no effect; ``comb_sum`` adds them. Each concept appears once."""
    best: dict[UUID, dict[str, MatchReason]] = {}

    def keep_best_reason(concept_id: UUID, reason: MatchReason) -> None:
        reasons_by_name = best.setdefault(concept_id, {})
        if reason.name not in reasons_by_name or reason.score > reasons_by_name[reason.name].score:
            reasons_by_name[reason.name] = reason

    verdicts = {}
    each_kind = SearchOptions(
        mode=Mode.DENSE, limit=_CANDIDATES_PER_KIND, min_similarity=options.min_similarity
    )
    for hit in knowledge_query.find(
        "concept", each_kind.limit, min_similarity=each_kind.min_similarity
    ):
        verdicts[hit.node_id] = hit.verdict
        keep_best_reason(hit.node_id, MatchReason("concept", hit.score, weights.concept))
    sources = search_sources(knowledge_query, each_kind)
    similarities = {hit.source_id: hit.similarity for hit in sources}
    instances = Instance.objects.not_lost().filter(source__in=list(similarities))
    if not knowledge_query.grant.sees_all_documents:
        instances = instances.filter(concept__in=Concept.objects.visible_to(knowledge_query.grant))
    for concept_id, source_id in (
        instances.order_by().values_list("concept_id", "source_id").distinct()
    ):
        assert source_id is not None
        through = {"source": str(source_id)}
        keep_best_reason(
            concept_id, MatchReason("source", similarities[source_id], weights.source, through)
        )
    for found in search_relationship_types(
        knowledge_query, each_kind, edges_shown=_MAX_EDGES_PER_TYPE
    ):
        for edge in found.edges:
            through = {"relationship_type": str(found.type.pk), "relationship": str(edge.pk)}
            reason = MatchReason(
                "relationship_type", found.reason.similarity, weights.relationship, through
            )
            keep_best_reason(edge.source_id, reason)
            keep_best_reason(edge.target_id, reason)
    ranked = sorted(best, key=lambda pk: (-_combine(best[pk]), pk))
    reasons = {pk: list(best[pk].values()) for pk in ranked[: options.limit]}
    return load_concepts(reasons, knowledge_query.grant, verdicts)


def _combine(reasons: Mapping[str, MatchReason]) -> float:
    return comb_sum([reason.score for reason in reasons.values()])
