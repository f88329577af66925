"""Finds relationship paths by type similarity, and the subgraph around a query."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from access.grants import Grant
from concepts.knowledge.concepts import search_concepts, search_relationship_types
from concepts.knowledge.query import KnowledgeQuery
from concepts.knowledge.routing import RoutingResult
from concepts.knowledge.sources import search_sources
from concepts.models import Concept, Instance, Relationship
from retrieval.search.request import SearchOptions

MAX_DEPTH = 3
_MAX_TYPES = 1_000  # relationship types; vocabularies are smaller in practice
_BEAM_WIDTH = 200  # paths kept at each depth
_MAX_EDGES_PER_DEPTH = 5_000  # relationships read at each depth
MAX_SUBGRAPH_EDGES = 1_000  # in a subgraph


@dataclass(frozen=True, slots=True)
class PathStep:
    edge: Relationship
    similarity: float  # of its type to the most similar word
    like: str  # that word


@dataclass(frozen=True, slots=True)
class ConceptPath:
    """A chain of relationships; its similarity is that of its least similar step."""

    steps: tuple[PathStep, ...]
    concept_ids: tuple[UUID, ...]  # in order, from the start of the path

    @property
    def similarity(self) -> float:
        return min(step.similarity for step in self.steps)

    @property
    def sort_key(self) -> tuple[float, int, tuple[UUID, ...]]:
        return -self.similarity, len(self.steps), self.concept_ids


@dataclass(frozen=True, slots=True)
class Subgraph(RoutingResult):
    """The hits above a threshold, and the edges of their concepts: ``edges`` has those among them
    first, then those that lead to other concepts, ``MAX_SUBGRAPH_EDGES`` of ``edge_count`` in all.
    ``quotes`` link concepts to sources."""

    edges: list[Relationship]
    edge_count: int
    quotes: list[Instance]


def find_paths(
    concept: Concept,
    *,
    like: Sequence[str],
    grant: Grant,
    depth: int,
    limit: int,
    min_similarity: float | None = None,
) -> tuple[list[ConceptPath], list[UUID]]:
    """Find chains of up to ``depth`` relationships from a concept, in either direction, whose types
    are similar to any of the words ``like``; most similar first, then shortest. A chain visits no
    concept twice. The ids of stale hits are returned too."""
    stale_ids: list[UUID] = []
    options = SearchOptions(limit=_MAX_TYPES, min_similarity=min_similarity)
    type_similarities: dict[UUID, tuple[float, str]] = {}
    for word in like:
        knowledge_query = KnowledgeQuery([concept.index], word, grant=grant)
        for hit in knowledge_query.find("relationship_type", options):
            if hit.score > type_similarities.get(hit.pk, (-2.0, ""))[0]:
                type_similarities[hit.pk] = (hit.score, word)
        stale_ids += knowledge_query.checks.stale_ids
    frontier = [ConceptPath((), (concept.pk,))]
    found: list[ConceptPath] = []
    for _ in range(depth):
        frontier = sorted(
            _extend_paths(frontier, type_similarities, grant), key=lambda path: path.sort_key
        )[:_BEAM_WIDTH]
        found += frontier
    return sorted(found, key=lambda path: path.sort_key)[:limit], stale_ids


def search_subgraph(knowledge_query: KnowledgeQuery, options: SearchOptions) -> Subgraph:
    """Find concepts, sources and types more similar to a query than ``min_similarity``, at most
    ``limit`` of each, the edges of these concepts, and the quotes that link them to these
    sources."""
    concepts = search_concepts(knowledge_query, options)
    sources = search_sources(knowledge_query, options)
    types = search_relationship_types(knowledge_query, options, edges_shown=0)
    ids = [hit.entity.pk for hit in concepts]
    edges = Relationship.objects.visible_to(knowledge_query.grant).with_concepts_and_type()
    edges = edges.involving(ids)
    ranked = edges.inside_first(ids)
    instances = Instance.objects.not_lost().filter(
        concept__in=ids, source__in=[hit.source_id for hit in sources]
    )
    joined = instances.select_related("artifact", "source").order_by("concept", "start_offset")
    return Subgraph(
        concepts, sources, types, list(ranked[:MAX_SUBGRAPH_EDGES]), edges.count(), list(joined)
    )


def _extend_paths(
    paths: Sequence[ConceptPath], type_similarities: dict[UUID, tuple[float, str]], grant: Grant
) -> list[ConceptPath]:
    ends = list({path.concept_ids[-1] for path in paths})
    rows = Relationship.objects.visible_to(grant).with_concepts_and_type().involving(ends)
    rows = rows.filter(type__in=list(type_similarities))
    edges: defaultdict[UUID, list[Relationship]] = defaultdict(list)
    for row in rows.order_by("pk")[:_MAX_EDGES_PER_DEPTH]:
        edges[row.source_id].append(row)
        edges[row.target_id].append(row)
    extended = []
    for path in paths:
        last = path.concept_ids[-1]
        for edge in edges[last]:
            other = edge.target_id if edge.source_id == last else edge.source_id
            if other not in path.concept_ids:
                step = PathStep(edge, *type_similarities[edge.type_id])
                extended.append(ConceptPath((*path.steps, step), (*path.concept_ids, other)))
    return extended
