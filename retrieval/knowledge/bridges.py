"""The sources between two concepts: near to both."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from concepts.models import EmergentPair
from indexing.models import IndexBuild
from indexing.stores import get_store
from retrieval.knowledge.nearest import Nearest
from retrieval.knowledge.passages import SourceHit, search_sources

_SOURCES = 50  # looked at near each concept
BRIDGES_SHOWN = 5  # of each pair


@dataclass(frozen=True, slots=True)
class Bridge:
    """One source, by the chunk nearest to each of the two concepts."""

    first: SourceHit
    second: SourceHit

    @property
    def similarity(self) -> float:
        """To the concept it is less near to."""
        return min(self.first.similarity, self.second.similarity)


def find_bridges(
    index: str, pairs: Sequence[EmergentPair], *, min_similarity: float
) -> dict[UUID, list[Bridge]]:
    """Pair -> the sources nearer than ``min_similarity`` to both its concepts, best first.

    Looked for now, among the documents as they are: what is given later bridges too.

    Raises:
        StoreUnavailable: retry helps.
    """
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or "chunk" not in build.spec.kinds:
        return {}
    ids = sorted({end for pair in pairs for end in (pair.first_id, pair.second_id)})
    stored = get_store().retrieve(build.collection("concept"), ids, with_vectors=True)
    near: dict[UUID, dict[UUID, SourceHit]] = {}
    for concept_id, point in stored.items():
        if point.dense is not None:
            nearest = Nearest([index], vector=point.dense)
            hits = search_sources(nearest, limit=_SOURCES, min_similarity=min_similarity)
            near[concept_id] = {hit.source_id: hit for hit in hits}
    return {pair.pk: _between(near.get(pair.first_id, {}), near.get(pair.second_id, {}))
            for pair in pairs}  # fmt: skip


def _between(first: dict[UUID, SourceHit], second: dict[UUID, SourceHit]) -> list[Bridge]:
    bridges = [Bridge(first[source_id], second[source_id]) for source_id in first.keys() & second]
    bridges.sort(key=lambda bridge: (-bridge.similarity, bridge.first.source_id))
    return bridges[:BRIDGES_SHOWN]
