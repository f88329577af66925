"""Searches sources by their chunks, and loads their vectors and adjacent sources."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db.models import QuerySet

from access.grants import Grant
from concepts.models import Concept, Instance
from documents.models import Source
from indexing.exceptions import NotYetIndexed
from indexing.models import IndexBuild, Node
from indexing.services.batches import slices
from indexing.stores import DenseVector
from retrieval.exceptions import UnknownSource
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.search import targets
from retrieval.search.hit_checks import Verdict
from retrieval.search.request import SCORE_KINDS, SearchOptions
from retrieval.search.run import Hit
from retrieval.visible_points import VisiblePoints

_CHUNKS_PER_SOURCE = 4  # chunks fetched per wanted source; each further request doubles the number
_MAX_CHUNKS = 2_000
_POINTS_PER_REQUEST = 500  # whose vectors are read


@dataclass(frozen=True, slots=True)
class SourceHit:
    """``chunks`` are the chunks that matched, best first; the first gives the score.
    ``similarity`` is the cosine of the most similar one. ``source`` is None if an edit removed it;
    the chunks are then stale."""

    source_id: UUID
    source: Source | None
    index: str
    chunks: list[Hit]
    similarity: float
    score_kind: str
    neighbours: list[Source]
    instances: list[Instance]

    @property
    def score(self) -> float:
        return self.chunks[0].score

    @property
    def is_stale(self) -> bool:
        return any(chunk.verdict == Verdict.STALE for chunk in self.chunks)


def search_sources(
    knowledge_query: KnowledgeQuery,
    options: SearchOptions,
    *,
    window: int = 0,
    with_concepts: bool = False,
) -> list[SourceHit]:
    """Find sources by their best chunk, best first. ``window``
    adds the adjacent sources on each side, ``with_concepts`` the quotes in each source with their
    concepts."""
    end = options.offset + options.limit
    chunks = _find_chunks_by_source(knowledge_query, end, options)
    found = list(chunks)[options.offset : end]
    sources = Source.objects.select_related("artifact", "page").defer("page__text").in_bulk(found)
    neighbours = load_adjacent_sources(sources.values(), window)
    quotes = group_by_source(find_quotes(found, knowledge_query.grant)) if with_concepts else {}
    return [
        SourceHit(
            source_id,
            sources.get(source_id),
            chunks[source_id][0][0].index,
            [chunk for chunk, _ in chunks[source_id]],
            max(similarity for _, similarity in chunks[source_id]),
            SCORE_KINDS[options.mode],
            neighbours.get(source_id, []),
            quotes.get(source_id, []),
        )
        for source_id in found
    ]


def require_same_model(indexes: Sequence[str], grant: Grant) -> None:
    """
    Raises:
        InvalidInput: the chunks of these indexes are embedded by different models.
        UnknownIndex: lists the known names.
    """
    targets.require_same_model(
        targets.make_targets(targets.find_builds(indexes, grant).values(), ("chunk",), None)
    )


def compute_source_vector(source_id: UUID, grant: Grant) -> tuple[Source, DenseVector]:
    """A source with its artifact, and the normalised mean of its chunk vectors in the live build.

    Raises:
        UnknownSource: there is no source with this id.
        NotYetIndexed: the store holds none of its chunks yet.
    """
    source = Source.objects.select_related("artifact").filter(pk=source_id).first()
    if source is None or not source.artifact.is_visible_to(grant):
        raise UnknownSource(field="id")
    build = IndexBuild.objects.live().filter(index=source.artifact.index).first()
    chunks = Node.objects.filter(
        build=build, source=source_id, kind="chunk", state=Node.State.SYNCED
    )
    ids = list(chunks.values_list("point_id", flat=True))
    vectors = read_vectors(build, "chunk", ids, grant)
    if not vectors:
        raise NotYetIndexed(
            "None of the source's chunks is embedded yet.", field="id", fix="Try again shortly."
        )
    mean = np.mean(list(vectors.values()), axis=0)
    return source, mean / np.linalg.norm(mean)


def read_vectors(
    build: IndexBuild | None, kind: str, ids: Sequence[UUID], grant: Grant
) -> dict[UUID, DenseVector]:
    """Point id -> its vector of unit length, for each node of a kind that has a point."""
    vectors: dict[UUID, DenseVector] = {}
    if build is None or not ids or kind not in build.spec.kinds:
        return vectors
    collection = build.collection(kind)
    for part in slices(ids, _POINTS_PER_REQUEST):
        stored = VisiblePoints(grant).retrieve(collection, part, with_vectors=True)
        for pk, point in stored.items():
            if point.dense is not None:
                vectors[pk] = point.dense / (np.linalg.norm(point.dense) or 1.0)
    return vectors


def load_adjacent_sources(sources: Collection[Source], window: int) -> dict[UUID, list[Source]]:
    """The sources up to ``window`` places before and after each in its artifact, in order."""
    if not window or not sources:
        return {}
    artifacts = {source.artifact_id for source in sources}
    places = {
        (source.artifact_id, source.ordinal + step)
        for source in sources
        for step in range(-window, window + 1)
    }
    rows = Source.objects.filter(
        artifact__in=artifacts, ordinal__in={ordinal for _, ordinal in places}
    )
    by_place = {
        (row.artifact_id, row.ordinal): row
        for row in rows.select_related("page").defer("page__text")
    }
    steps = [step for step in range(-window, window + 1) if step]
    return {
        source.pk: [
            by_place[place]
            for step in steps
            if (place := (source.artifact_id, source.ordinal + step)) in by_place
        ]
        for source in sources
    }


def _find_chunks_by_source(
    knowledge_query: KnowledgeQuery, limit: int, options: SearchOptions
) -> dict[UUID, list[tuple[Hit, float]]]:
    """Source id -> its chunks that were found, with their cosines; best source first."""
    count = limit * _CHUNKS_PER_SOURCE
    while True:
        found = knowledge_query.find_chunks(count, options)
        chunks: dict[UUID, list[tuple[Hit, float]]] = {}
        for hit, similarity in found:
            chunks.setdefault(UUID(hit.payload["source_id"]), []).append((hit, similarity))
        if len(chunks) >= limit or len(found) < count or count >= _MAX_CHUNKS:
            return chunks
        count = min(2 * count, _MAX_CHUNKS)


def find_quotes(source_ids: Collection[UUID], grant: Grant) -> QuerySet[Instance]:
    """The quotes of visible concepts in these sources, which are visible, too."""
    quotes = Instance.objects.not_lost().filter(source__in=list(source_ids))
    if grant.sees_all_documents:
        return quotes
    return quotes.filter(concept__in=Concept.objects.visible_to(grant))


def group_by_source(quotes: QuerySet[Instance]) -> dict[UUID | None, list[Instance]]:
    """Load quotes in the order of their source, with what an answer says of them."""
    grouped: dict[UUID | None, list[Instance]] = {}
    rows = quotes.select_related("concept", "artifact", "source")
    for quote in rows.order_by("start_offset", "pk"):
        grouped.setdefault(quote.source_id, []).append(quote)
    return grouped
