"""Paths along types like some words, and the subgraph a query spans."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from concepts.models import Instance, Relationship
from retrieval.knowledge.concepts import ConceptHit, TypeHit, search_concepts, search_types
from retrieval.knowledge.nearest import Nearest
from retrieval.knowledge.passages import SourceHit, search_sources

MAX_DEPTH = 3
_TYPES = 1_000  # of the vocabulary: more than anyone keeps apart
_BEAM = 200  # paths carried on from each depth
_EDGES = 5_000  # looked at for each depth


@dataclass(frozen=True, slots=True)
class Step:
    edge: Relationship
    similarity: float  # of its type to the words
    like: str  # the word it is nearest to


@dataclass(frozen=True, slots=True)
class Path:
    """As near as the least of its steps: a chain holds no better than its weakest link."""

    steps: tuple[Step, ...]
    concept_ids: tuple[UUID, ...]  # along it, from where it begins

    @property
    def similarity(self) -> float:
        return min(step.similarity for step in self.steps)

    @property
    def place(self) -> tuple[float, int, tuple[UUID, ...]]:
        return -self.similarity, len(self.steps), self.concept_ids


@dataclass(frozen=True, slots=True)
class Subgraph:
    """What lies over a threshold, and the edges among it. ``instances`` join its concepts and
    sources."""

    concepts: list[ConceptHit]
    sources: list[SourceHit]
    types: list[TypeHit]
    edges: list[Relationship]
    instances: list[Instance]


def find_paths(
    index: str,
    concept_id: UUID,
    words: Sequence[str],
    *,
    depth: int,
    limit: int,
    min_similarity: float | None = None,
) -> tuple[list[Path], list[Nearest]]:
    """Chains of up to ``depth`` relationships from a concept, followed either way, whose types
    are near any of ``words``; the nearest first, then the shortest. No concept stands twice in
    one.

    Raises:
        InvalidInput: a word is blank.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    asked = [Nearest([index], word) for word in words]
    near: dict[UUID, tuple[float, str]] = {}
    for nearest in asked:
        for hit in nearest.find("relationship_type", _TYPES, min_similarity=min_similarity):
            if hit.score > near.get(hit.node_id, (-2.0, ""))[0]:
                near[hit.node_id] = (hit.score, nearest.query)
    frontier = [Path((), (concept_id,))]
    found: list[Path] = []
    for _ in range(depth):
        frontier = sorted(_extend(frontier, near), key=lambda path: path.place)[:_BEAM]
        found += frontier
    return sorted(found, key=lambda path: path.place)[:limit], asked


def search_subgraph(nearest: Nearest, *, threshold: float, limit: int) -> Subgraph:
    """Concepts, sources and types nearer to a query than ``threshold``, ``limit`` of each at
    most, and what joins them."""
    concepts = search_concepts(nearest, limit=limit, min_similarity=threshold)
    sources = search_sources(nearest, limit=limit, min_similarity=threshold)
    types = search_types(nearest, limit=limit, min_similarity=threshold, edges_shown=0)
    ids = [hit.concept.pk for hit in concepts]
    edges = Relationship.objects.named().filter(source__in=ids, target__in=ids)
    instances = Instance.objects.standing().filter(
        concept__in=ids, source__in=[hit.source_id for hit in sources]
    )
    joined = instances.select_related("artifact", "source").order_by("concept", "start_offset")
    return Subgraph(concepts, sources, types, list(edges), list(joined))


def _extend(paths: Sequence[Path], near: dict[UUID, tuple[float, str]]) -> list[Path]:
    edges = _edges_at({path.concept_ids[-1] for path in paths}, near)
    extended = []
    for path in paths:
        last = path.concept_ids[-1]
        for edge in edges.get(last, []):
            other = edge.target_id if edge.source_id == last else edge.source_id
            if other not in path.concept_ids:
                step = Step(edge, *near[edge.type_id])
                extended.append(Path((*path.steps, step), (*path.concept_ids, other)))
    return extended


def _edges_at(
    concept_ids: Collection[UUID], type_ids: Collection[UUID]
) -> dict[UUID, list[Relationship]]:
    ends = list(concept_ids)
    rows = Relationship.objects.named().filter(
        Q(source__in=ends) | Q(target__in=ends), type__in=list(type_ids)
    )
    edges: dict[UUID, list[Relationship]] = {}
    for row in rows.order_by("pk")[:_EDGES]:
        for end in (row.source_id, row.target_id):
            edges.setdefault(end, []).append(row)
    return edges
