"""Ranks the quotes of a concept by similarity to a query, and reads the sources around them."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef

from access.grants import Grant
from concepts.models import Concept, Instance
from documents.models import Source
from indexing.embedding.vectors import cosine
from indexing.models import IndexBuild, Node
from retrieval.knowledge.sources import group_by_source, read_vectors
from retrieval.search.query_vectors import embed_query
from retrieval.search.request import check_query
from retrieval.source_context import load_adjacent_sources

MAX_RANKED_INSTANCES = 1_000  # quotes of one concept compared with a query


def rank_instances(
    concept: Concept, query: str | None, grant: Grant
) -> list[tuple[Instance, float | None]]:
    """The quotes of a visible concept that are not lost, most similar to the query first, each with
    the similarity of the query to the best chunk that overlaps the quote: None without a query, or
    while no such chunk is embedded. Quotes without a similarity come last, the oldest first.

    Raises:
        InvalidInput: the query is blank or too long.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    rows = concept.instances.not_lost().select_related("artifact", "source")
    instances = list(rows.order_by("created_at", "pk")[:MAX_RANKED_INSTANCES])
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
    """The sources that quote a concept, each with its quotes and ``window`` neighbours on each
    side."""
    quotes = Instance.objects.not_lost().filter(concept=concept)
    sources = Source.objects.filter(Exists(quotes.filter(source=OuterRef("pk"))))
    sources = sources.order_by("artifact__created_at", "artifact", "ordinal")
    page = list(
        sources.select_related("artifact", "page").defer("page__text")[offset : offset + limit]
    )
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
