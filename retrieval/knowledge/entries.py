"""The best entry point of a query; and concepts found in several ways, blended."""

from dataclasses import dataclass
from uuid import UUID

from concepts.models import Instance
from retrieval.knowledge.concepts import (
    ConceptHit,
    TypeHit,
    Way,
    load_concepts,
    search_concepts,
    search_types,
)
from retrieval.knowledge.nearest import Nearest
from retrieval.knowledge.passages import SourceHit, search_sources

_EDGES_FOLLOWED = 100  # of each type that matches
_CANDIDATES = 100  # of each sort that are looked at for a blend


@dataclass(frozen=True, slots=True)
class Routes:
    """What a query meets, of each sort. All share one space: their similarities compare."""

    concepts: list[ConceptHit]
    sources: list[SourceHit]
    types: list[TypeHit]

    @property
    def entry(self) -> tuple[str, UUID, float] | None:
        """The best of all: its sort, its id, its similarity. Of equals, the concept, then the
        source."""
        best = [("concept", hit.concept.pk, hit.score) for hit in self.concepts[:1]]
        best += [("source", hit.source_id, hit.similarity) for hit in self.sources[:1]]
        best += [("relationship_type", hit.type.pk, hit.way.score) for hit in self.types[:1]]
        return max(best, key=lambda each: each[2], default=None)


@dataclass(frozen=True, slots=True)
class Weights:
    concept: float = 1.0
    source: float = 0.8
    relationship: float = 0.6


def route_query(nearest: Nearest, *, limit: int, min_similarity: float | None = None) -> Routes:
    return Routes(
        search_concepts(nearest, limit=limit, min_similarity=min_similarity),
        search_sources(nearest, limit=limit, min_similarity=min_similarity),
        search_types(nearest, limit=limit, min_similarity=min_similarity),
    )


def blend_concepts(
    nearest: Nearest,
    *,
    limit: int,
    weights: Weights = Weights(),
    min_similarity: float | None = None,
) -> list[ConceptHit]:
    """Concepts by their own meaning, by the sources that bear them, and by the types of their
    relationships, each similarity weighted; a concept found in several ways stands once, by the
    best of them. Many ways are not better than one."""
    best: dict[UUID, dict[str, Way]] = {}

    def note(concept_id: UUID, way: Way) -> None:
        ways = best.setdefault(concept_id, {})
        if way.name not in ways or way.score > ways[way.name].score:
            ways[way.name] = way

    verdicts = {}
    for hit in nearest.find("concept", _CANDIDATES, min_similarity=min_similarity):
        verdicts[hit.node_id] = hit.verdict
        note(hit.node_id, Way("concept", hit.score, weights.concept))
    sources = search_sources(nearest, limit=_CANDIDATES, min_similarity=min_similarity)
    similarities = {hit.source_id: hit.similarity for hit in sources}
    borne = Instance.objects.standing().filter(source__in=list(similarities))
    for concept_id, source_id in borne.order_by().values_list("concept_id", "source_id").distinct():
        assert source_id is not None
        through = {"source": str(source_id)}
        note(concept_id, Way("source", similarities[source_id], weights.source, through))
    for found in search_types(
        nearest, limit=_CANDIDATES, min_similarity=min_similarity, edges_shown=_EDGES_FOLLOWED
    ):
        for edge in found.edges:
            through = {"relationship_type": str(found.type.pk), "relationship": str(edge.pk)}
            way = Way("relationship_type", found.way.similarity, weights.relationship, through)
            note(edge.source_id, way)
            note(edge.target_id, way)
    ranked = sorted(best, key=lambda pk: (-max(way.score for way in best[pk].values()), pk))
    return load_concepts({pk: list(best[pk].values()) for pk in ranked[:limit]}, verdicts)
