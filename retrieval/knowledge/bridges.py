"""Finds bridges: sources similar to both concepts of an emergent pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from access.grants import Grant
from concepts.models import EmergentPair
from indexing.models import IndexBuild
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.knowledge.sources import SourceHit, search_sources
from retrieval.search.request import Mode, SearchOptions
from retrieval.visible_points import VisiblePoints

_SOURCES_PER_CONCEPT = 50  # nearest sources compared
MAX_BRIDGES_SHOWN = 5  # per pair


@dataclass(frozen=True, slots=True)
class Bridge:
    """One source, with the chunk most similar to each of the two concepts."""

    first: SourceHit
    second: SourceHit

    @property
    def similarity(self) -> float:
        """The lower of the similarities to the two concepts."""
        return min(self.first.similarity, self.second.similarity)


def find_bridges(
    index: str, pairs: Sequence[EmergentPair], grant: Grant, *, min_similarity: float
) -> dict[UUID, list[Bridge]]:
    """For each pair, the sources more similar than ``min_similarity`` to both concepts, best first.

    Bridges are searched on each call and not stored, so new documents are included at once.

    Raises:
        StoreUnavailable: retry helps.
    """
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or "chunk" not in build.spec.kinds:
        return {}
    ids = sorted({end for pair in pairs for end in (pair.first_id, pair.second_id)})
    points = VisiblePoints(grant)
    stored = points.retrieve(build.collection("concept"), ids, with_vectors=True)
    hits_by_concept: dict[UUID, dict[UUID, SourceHit]] = {}
    options = SearchOptions(
        mode=Mode.DENSE, limit=_SOURCES_PER_CONCEPT, min_similarity=min_similarity
    )
    for concept_id, point in stored.items():
        if point.dense is not None:
            knowledge_query = KnowledgeQuery([index], vector=point.dense, grant=grant)
            hits = search_sources(knowledge_query, options)
            hits_by_concept[concept_id] = {hit.source_id: hit for hit in hits}
    return {
        pair.pk: _join_bridges(
            hits_by_concept.get(pair.first_id, {}), hits_by_concept.get(pair.second_id, {})
        )
        for pair in pairs
    }


def _join_bridges(first: dict[UUID, SourceHit], second: dict[UUID, SourceHit]) -> list[Bridge]:
    bridges = [Bridge(first[source_id], second[source_id]) for source_id in first.keys() & second]
    bridges.sort(key=lambda bridge: (-bridge.similarity, bridge.first.source_id))
    return bridges[:MAX_BRIDGES_SHOWN]
