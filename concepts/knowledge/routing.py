"""Routes a query to its best entry point, and blends concept hits found in several ways."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from concepts.knowledge.concepts import (
    ConceptHit,
    MatchReason,
    RelationshipTypeHit,
    load_concepts,
    search_relationship_types,
)
from concepts.knowledge.query import KnowledgeQuery
from concepts.knowledge.sources import SourceHit, find_quotes, search_sources
from retrieval.fusion import comb_sum
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
        best = [(hit.kind, hit.entity.pk, hit.score) for hit in self.concepts[:1]]
        # The mode ranks the sources, so the first need not be the most similar.
        best += [("source", hit.source_id, hit.similarity) for hit in self.sources]
        best += [(hit.kind, hit.entity.pk, hit.score) for hit in self.types[:1]]
        # The store's cosines of equal vectors differ in the last digits.
        return max(best, key=lambda each: round(each[2], 6), default=None)


def blend_concepts(
    knowledge_query: KnowledgeQuery, options: SearchOptions, weights: Mapping[str, float]
) -> list[ConceptHit]:
    """Find concepts by three similarities: of the concept itself, of the sources that quote it, and
    of its relationships' types. ``weights`` has that of each kind. Only the best of each kind
    counts, so the number of quotes has no effect; ``comb_sum`` adds them. Each concept appears
    once."""
    best: dict[UUID, dict[str, MatchReason]] = {}

    def keep_best_reason(
        concept_id: UUID, kind: str, similarity: float, through: Mapping[str, str]
    ) -> None:
        reason = MatchReason(kind, similarity, weights[kind], through)
        reasons = best.setdefault(concept_id, {})
        reasons[kind] = max(reasons.get(kind, reason), reason, key=lambda each: each.score)

    each_kind = SearchOptions(
        mode=Mode.DENSE, limit=_CANDIDATES_PER_KIND, min_similarity=options.min_similarity
    )
    concepts = knowledge_query.find("concept", each_kind)
    for hit in concepts:
        keep_best_reason(hit.pk, "concept", hit.score, {})
    sources = search_sources(knowledge_query, each_kind)
    similarities = {hit.source_id: hit.similarity for hit in sources}
    quotes = find_quotes(similarities, knowledge_query.grant).order_by()
    for concept_id, source_id in quotes.values_list("concept_id", "source_id").distinct():
        assert source_id is not None
        through = {"source": str(source_id)}
        keep_best_reason(concept_id, "source", similarities[source_id], through)
    for found in search_relationship_types(
        knowledge_query, each_kind, edges_shown=_MAX_EDGES_PER_TYPE
    ):
        for edge in found.edges:
            through = {"relationship_type": str(found.entity.pk), "relationship": str(edge.pk)}
            for concept_id in (edge.source_id, edge.target_id):
                keep_best_reason(concept_id, "relationship_type", found.score, through)
    scores = {pk: comb_sum([each.score for each in best[pk].values()]) for pk in best}
    ranked = sorted(best, key=lambda pk: (-scores[pk], pk))
    reasons = {pk: list(best[pk].values()) for pk in ranked[: options.limit]}
    verdicts = {hit.pk: hit.verdict for hit in concepts}
    return load_concepts(reasons, knowledge_query.grant, verdicts)
