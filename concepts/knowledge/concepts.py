"""Searches concepts and relationship types by meaning, with quotes and relationships."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from access.grants import Grant
from concepts.knowledge.query import KnowledgeAnswer, KnowledgeQuery
from concepts.knowledge.sources import group_by_source, list_sources, read_vectors
from concepts.models import Concept, Instance, Relationship, RelationshipType
from documents.models import Source
from indexing.embedding.vectors import cosine
from indexing.models import IndexBuild, Node
from retrieval.fusion import comb_sum
from retrieval.search.hit_checks import Verdict
from retrieval.search.query_vectors import embed_query
from retrieval.search.request import SearchOptions, check_query
from retrieval.source_context import load_adjacent_sources

MAX_QUOTES_SHOWN = 3  # per concept; concepts/{id}/evidence returns all
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
    quotes: list[Instance]


@dataclass(frozen=True, slots=True)
class RelationshipTypeHit(EntityHit):
    kind = "relationship_type"
    entity: RelationshipType
    edges: list[Relationship]


@dataclass(frozen=True, slots=True)
class RelationshipHit:
    edge: Relationship
    score: float
    verdict: Verdict | None
    quotes: list[Instance]  # of its concepts


@dataclass(frozen=True, kw_only=True)
class RelationshipAnswer(KnowledgeAnswer[list[RelationshipTypeHit]]):
    relationships: list[RelationshipHit]


def search_concepts(knowledge_query: KnowledgeQuery, options: SearchOptions) -> list[ConceptHit]:
    hits = knowledge_query.find("concept", options)
    reasons = {hit.pk: [MatchReason("concept", hit.score)] for hit in hits}
    return load_concepts(reasons, knowledge_query.grant, {hit.pk: hit.verdict for hit in hits})


def search_relationship_types(
    knowledge_query: KnowledgeQuery, options: SearchOptions, *, edges_shown: int = MAX_EDGES_SHOWN
) -> list[RelationshipTypeHit]:
    """Find relationship types, each with its first ``edges_shown`` relationships."""
    hits = knowledge_query.find("relationship_type", options)
    types = RelationshipType.objects.in_bulk([hit.pk for hit in hits])
    edges = Relationship.objects.visible_to(knowledge_query.grant).filter(type__in=list(types))
    first_edges = _load_first_of_each(edges.with_concepts_and_type(), "type_id", edges_shown)
    return [
        RelationshipTypeHit(
            types[hit.pk],
            [MatchReason("relationship_type", hit.score)],
            hit.verdict,
            first_edges.get(hit.pk, []),
        )
        for hit in hits
        if hit.pk in types
    ]


def search_relationships(
    knowledge_query: KnowledgeQuery, options: SearchOptions
) -> list[RelationshipHit]:
    """Find single relationships by their concepts, their type and their quotes."""
    hits = knowledge_query.find("relationship", options)
    rows = Relationship.objects.visible_to(knowledge_query.grant).with_concepts_and_type()
    edges = rows.in_bulk([hit.pk for hit in hits])
    return [
        RelationshipHit(edges[hit.pk], hit.score, hit.verdict, edges[hit.pk].find_quotes())
        for hit in hits
        if hit.pk in edges
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
        quotes.select_related("artifact", "source"), "concept_id", MAX_QUOTES_SHOWN
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


MAX_RANKED_QUOTES = 1_000  # quotes of one concept compared with a query


def rank_quotes(
    concept: Concept, query: str | None, grant: Grant
) -> list[tuple[Instance, float | None]]:
    """The quotes of a visible concept that are not lost, most similar to the query first, each with
    the similarity of the query to the best chunk that overlaps the quote: None without a query, or
    while no such chunk is embedded. Quotes without a similarity come last, the oldest first."""
    rows = concept.quotes.not_lost().select_related("artifact", "source")
    instances = list(rows.order_by("created_at", "pk")[:MAX_RANKED_QUOTES])
    build = IndexBuild.objects.live().filter(index=concept.index).first()
    similarities: dict[UUID, float] = {}
    if query is not None and build is not None:
        check_query([concept.index], query)
        similarities = _compute_similarities(instances, build, query, grant)
    ranked = [(each, similarities.get(each.pk)) for each in instances]
    # The sort is stable, so ties keep their order.
    return sorted(ranked, key=lambda each: (each[1] is None, -(each[1] or 0)))


def read_concept_context(
    concept: Concept, *, window: int, limit: int, offset: int
) -> list[tuple[Source, list[Instance], list[Source]]]:
    """The sources that quote a concept, each with its quotes and ``window`` neighbours per side."""
    quotes = Instance.objects.not_lost().filter(concept=concept)
    sources = list_sources().filter(Exists(quotes.filter(source=OuterRef("pk"))))
    sources = sources.order_by("artifact__created_at", "artifact", "ordinal")
    page = list(sources[offset : offset + limit])
    quotes_by_source = group_by_source(quotes.filter(source__in=page))
    neighbours = load_adjacent_sources(page, window)
    return [(each, quotes_by_source[each.pk], neighbours.get(each.pk, [])) for each in page]


def _compute_similarities(
    instances: Sequence[Instance], build: IndexBuild, query: str, grant: Grant
) -> dict[UUID, float]:
    by_source: dict[UUID | None, list[Instance]] = {}
    for instance in instances:
        by_source.setdefault(instance.source_id, []).append(instance)
    chunks = Node.objects.filter(
        build=build, kind="chunk", state=Node.State.SYNCED, source__in=by_source.keys() - {None}
    ).only("point_id", "source_id", "start_offset", "end_offset")
    vectors = read_vectors(build, "chunk", [chunk.point_id for chunk in chunks], grant)
    similarities: dict[UUID, float] = {}
    if not vectors:
        return similarities
    query_vector = embed_query(build.spec.embedding, query)
    for chunk in chunks:
        if chunk.point_id not in vectors:
            continue
        similarity = cosine(query_vector, vectors[chunk.point_id])
        for instance in by_source[chunk.source_id]:
            if _overlaps(chunk, instance):
                similarities[instance.pk] = max(similarity, similarities.get(instance.pk, -1.0))
    return similarities


def _overlaps(node: Node, instance: Instance) -> bool:
    assert node.start_offset is not None
    assert node.end_offset is not None
    return node.start_offset < instance.end_offset and instance.start_offset < node.end_offset
