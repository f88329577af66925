"""The passages that bear a concept: by nearness to a query, and in their context."""

from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef

from concepts.models import Concept, Instance
from documents.models import Source
from indexing import embedding
from indexing.models import IndexBuild, Node
from retrieval.knowledge.passages import find_neighbours, read_vectors
from retrieval.search.request import check_query

MAX_RANKED = 1_000  # quotes of one concept that are compared with a query


@dataclass(frozen=True, slots=True)
class Evidence:
    """``similarity``: of the nearest chunk the quote stands in to the query; None without a
    query, or while none is embedded."""

    instance: Instance
    similarity: float | None


@dataclass(frozen=True, slots=True)
class BearingSource:
    source: Source
    instances: list[Instance]
    neighbours: list[Source]


def rank_evidence(concept: Concept, query: str | None) -> list[Evidence]:
    """The quotes of a concept that stand: nearest to the query first, those that cannot be
    compared last; without a query, in the order they came.

    Raises:
        InvalidInput: the query is blank or too long.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    rows = concept.instances.standing().select_related("artifact", "source")
    instances = list(rows.order_by("created_at", "pk")[:MAX_RANKED])
    build = IndexBuild.objects.live().filter(index=concept.artifact.index).first()
    if query is None or build is None:
        return [Evidence(instance, None) for instance in instances]
    check_query([concept.artifact.index], query)
    similarities = _measure(instances, build, query)
    evidence = [Evidence(each, similarities.get(each.pk)) for each in instances]
    # Stable: what is equally near stays in the order it came.
    return sorted(evidence, key=lambda each: (each.similarity is None, -(each.similarity or 0)))


def read_context(concept: Concept, *, window: int, limit: int, offset: int) -> list[BearingSource]:
    """The sources that bear a concept, each with its quotes and ``window`` neighbours a side."""
    bearing = Instance.objects.standing().filter(concept=concept)
    sources = Source.objects.filter(Exists(bearing.filter(source=OuterRef("pk"))))
    sources = sources.order_by("artifact__created_at", "artifact", "ordinal")
    page = list(
        sources.select_related("artifact", "page").defer("page__text")[offset : offset + limit]
    )
    quotes: dict[object, list[Instance]] = {}
    for instance in (
        bearing.filter(source__in=page)
        .select_related("artifact", "source")
        .order_by("start_offset", "pk")
    ):
        quotes.setdefault(instance.source_id, []).append(instance)
    neighbours = find_neighbours(page, window)
    return [
        BearingSource(source, quotes[source.pk], neighbours.get(source.pk, [])) for source in page
    ]


def _measure(instances: list[Instance], build: IndexBuild, query: str) -> dict[object, float]:
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
    vectors = read_vectors(nodes)
    if not vectors:
        return {}
    asked = embedding.get_embedder(build.spec.embedding).embed_query(query)
    asked = asked / (np.linalg.norm(asked) or 1.0)
    by_source: dict[object, list[Node]] = {}
    for node in nodes:
        if node.point_id in vectors:
            by_source.setdefault(node.source_id, []).append(node)
    similarities: dict[object, float] = {}
    for instance in instances:
        near = [
            float(np.dot(asked, vectors[node.point_id]))
            for node in by_source.get(instance.source_id, [])
            if _overlaps(node, instance)
        ]
        if near:
            similarities[instance.pk] = max(near)
    return similarities


def _overlaps(node: Node, instance: Instance) -> bool:
    assert node.start_offset is not None
    assert node.end_offset is not None
    return node.start_offset < instance.end_offset and instance.start_offset < node.end_offset
