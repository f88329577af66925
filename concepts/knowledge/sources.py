"""Searches sources by their chunks, and reads the vectors of nodes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import F, QuerySet

from access.grants import Grant
from concepts.knowledge.query import KnowledgeAnswer, KnowledgeQuery
from concepts.models import Concept, Instance
from documents.models import TEXTS_OF_PAGE, Source
from indexing.exceptions import NotYetIndexed
from indexing.models import IndexBuild, Node
from indexing.services.batches import slices
from indexing.stores import DenseVector
from retrieval.exceptions import UnknownSource
from retrieval.search.hit_checks import Verdict
from retrieval.search.request import Mode, SearchOptions, Versions, name_score
from retrieval.search.run import Hit
from retrieval.search.targets import find_builds, make_targets, require_same_model
from retrieval.source_context import PLACE, load_adjacent_sources
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
    quotes: list[Instance]

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
    versions: Versions = Versions.ALL,
) -> list[SourceHit]:
    """Find sources by their best chunk, best first. ``window`` adds the adjacent sources on each
    side, ``with_concepts`` the quotes in each source with their concepts."""
    options = replace(options.settle_mode(knowledge_query.query), versions=versions)
    end = options.offset + options.limit
    chunks = _find_chunks_by_source(knowledge_query, end, options)
    found = list(chunks)[options.offset : end]
    sources = list_sources().in_bulk(found)
    neighbours = load_adjacent_sources(sources.values(), window)
    quotes = group_by_source(find_quotes(found, knowledge_query.grant)) if with_concepts else {}
    best = {source_id: chunks[source_id][0][0] for source_id in found}
    specs = {source_id: chunk.spec for source_id, chunk in best.items()}
    return [
        SourceHit(
            source_id,
            sources.get(source_id),
            best[source_id].index,
            [chunk for chunk, _ in chunks[source_id]],
            max(similarity for _, similarity in chunks[source_id]),
            name_score(options.mode, specs[source_id].search.fusion, specs[source_id].sparse),
            neighbours.get(source_id, []),
            quotes.get(source_id, []),
        )
        for source_id in found
    ]


def search_similar_sources(
    source_id: UUID,
    grant: Grant,
    *,
    index: Sequence[str] | None = None,
    other_documents: bool = False,
    window: int = 0,
    **options: Any,
) -> KnowledgeAnswer[list[SourceHit]]:
    """Find the sources nearest to the normalised mean of a source's chunk vectors, in its own index
    or in others.

    Raises:
        UnknownSource: there is no source with this id.
        NotYetIndexed: the store holds none of its chunks yet.
        InvalidInput: the chunks of these indexes are embedded by different models.
    """
    source = Source.every_reading.select_related("artifact").filter(pk=source_id).first()
    if source is None or not source.artifact.is_visible_to(grant):
        raise UnknownSource(field="id")
    own_index = source.artifact.index
    build = IndexBuild.objects.live().filter(index=own_index).first()
    chunks = Node.objects.filter(
        build=build, source=source_id, kind="chunk", state=Node.State.SYNCED
    )
    ids = list(chunks.values_list("point_id", flat=True))
    vectors = read_vectors(build, "chunk", ids, grant)
    if not vectors:
        raise NotYetIndexed(
            "None of the source's chunks is embedded yet.", field="id", fix="Try again shortly."
        )
    names = [own_index] if index is None else index
    builds = find_builds([own_index, *names], grant)
    require_same_model(make_targets(builds.values(), ("chunk",)))
    mean = np.mean(list(vectors.values()), axis=0)
    knowledge_query = KnowledgeQuery(names, vector=mean / np.linalg.norm(mean), grant=grant)
    excluded = {"source_id": str(source_id)}
    if other_documents:
        excluded = {"artifact_id": str(source.artifact_id)}
    found = search_sources(
        knowledge_query,
        SearchOptions(mode=Mode.DENSE, filter={"not": excluded}, **options),
        window=window,
    )
    return knowledge_query.finish(KnowledgeAnswer, found=found)


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


def list_sources() -> QuerySet[Source]:
    """All sources, with what an answer says of them."""
    return Source.every_reading.select_related("artifact", "page").defer(*TEXTS_OF_PAGE)


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


def list_quotes(page_id: UUID, grant: Grant) -> QuerySet[Any]:
    """The quotes of visible concepts in a page, as ``retrieval.source_context`` renders them."""
    quotes = Instance.objects.not_lost().filter(
        source__page=page_id, concept__in=Concept.objects.visible_to(grant)
    )
    return quotes.values(
        *PLACE, "concept_id", text=F("quote"), label=F("concept__label"),
        passage_id=F("id"), current_hash=F("source__content_hash"),
    )  # fmt: skip
