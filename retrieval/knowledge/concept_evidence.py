"""Ranks the quotes of a concept by similarity to a query, and reads the sources around them."""

from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef

from access.grants import Grant
from concepts.models import Concept, Instance
from documents.models import Source
from indexing import embedding
from indexing.models import IndexBuild, Node
from retrieval.knowledge.sources import load_adjacent_sources, read_vectors
from retrieval.search.request import check_query

MAX_RANKED_INSTANCES = 1_000  # quotes of one concept compared with a query


@dataclass(frozen=True, slots=True)
class RankedInstance:
    """``similarity`` of the query to the best chunk that overlaps the quote; None without a query,
    or while no such chunk is embedded."""

    instance: Instance
    similarity: float | None


@dataclass(frozen=True, slots=True)
class ConceptSource:
    source: Source
    instances: list[Instance]
    neighbours: list[Source]


def rank_instances(concept: Concept, query: str | None, grant: Grant) -> list[RankedInstance]:
    """The quotes of a visible concept that are not lost, most similar to the query first. Quotes
    without a similarity come last. Without a query, the oldest come first.

    Raises:
        InvalidInput: the query is blank or too long.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    rows = concept.instances.not_lost().select_related("artifact", "source")
    instances = list(rows.order_by("created_at", "pk")[:MAX_RANKED_INSTANCES])
    build = IndexBuild.objects.live().filter(index=concept.index).first()
    if query is None or build is None:
        return [RankedInstance(instance, None) for instance in instances]
    check_query([concept.index], query)
    similarities = _compute_similarities(instances, build, query, grant)
    evidence = [RankedInstance(each, similarities.get(each.pk)) for each in instances]
    # The sort is stable, so ties keep their order.
    return sorted(evidence, key=lambda each: (each.similarity is None, -(each.similarity or 0)))


def read_concept_context(
    concept: Concept, *, window: int, limit: int, offset: int
) -> list[ConceptSource]:
    """The sources that quote a concept, with its quotes and ``window`` neighbours on each side."""
    instances = Instance.objects.not_lost().filter(concept=concept)
    sources = Source.objects.filter(Exists(instances.filter(source=OuterRef("pk"))))
    sources = sources.order_by("artifact__created_at", "artifact", "ordinal")
    page = list(
        sources.select_related("artifact", "page").defer("page__text")[offset : offset + limit]
    )
    quotes: dict[object, list[Instance]] = {}
    for instance in (
        instances.filter(source__in=page)
        .select_related("artifact", "source")
        .order_by("start_offset", "pk")
    ):
        quotes.setdefault(instance.source_id, []).append(instance)
    neighbours = load_adjacent_sources(page, window)
    return [
        ConceptSource(source, quotes[source.pk], neighbours.get(source.pk, [])) for source in page
    ]


def _compute_similarities(
    instances: list[Instance], build: IndexBuild, query: str, grant: Grant
) -> dict[object, float]:
    nodes = list(
        Node.objects.filter(
            build=build,
            kind="chunk",
            state=Node.State.SYNCED,
            source__in={each.source_id for each in instances if each.source_id},
        ).only("point_id", "source_id", "start_offset", "end_offset", "kind", "build_id")
    )
    for node in nodes:
        node.build = build
    vectors = read_vectors(nodes, grant)
    if not vectors:
        return {}
    query_vector = embedding.get_embedder(build.spec.embedding).embed_query(query)
    query_vector = query_vector / (np.linalg.norm(query_vector) or 1.0)
    by_source: dict[object, list[Node]] = {}
    for node in nodes:
        if node.point_id in vectors:
            by_source.setdefault(node.source_id, []).append(node)
    similarities: dict[object, float] = {}
    for instance in instances:
        chunk_similarities = [
            float(np.dot(query_vector, vectors[node.point_id]))
            for node in by_source.get(instance.source_id, [])
            if _overlaps(node, instance)
        ]
        if chunk_similarities:
            similarities[instance.pk] = max(chunk_similarities)
    return similarities


def _overlaps(node: Node, instance: Instance) -> bool:
    assert node.start_offset is not None
    assert node.end_offset is not None
    return node.start_offset < instance.end_offset and instance.start_offset < node.end_offset
