"""Computes pairs of similar concepts for a similarity below STRATA_EMERGENT_SIMILARITY, from which
pairs are stored, and finds the sources that bridge a pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from access.grants import Grant
from concepts.models import Concept, EmergentPair, Relationship
from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from indexing.services.batches import slices
from indexing.stores import DenseVector
from retrieval.knowledge.query import KnowledgeQuery
from retrieval.knowledge.sources import SourceHit, search_sources
from retrieval.search.request import Mode, SearchOptions
from retrieval.visible_points import VisiblePoints

MAX_CONCEPTS_COMPARED = 5_000  # each with each: about a second
_ROWS_AT_ONCE = 512  # of the matrix of similarities
_POINTS_PER_REQUEST = 500
_SOURCES_PER_CONCEPT = 50  # nearest sources compared for a bridge
MAX_BRIDGES_SHOWN = 5  # per pair

# Similarity, and the matrix rows of the two concepts.
_Pair = tuple[float, int, int]


def compute_open_pairs(
    index: str, grant: Grant, *, min_similarity: float, limit: int, offset: int
) -> tuple[list[EmergentPair], int]:
    """Compare the visible concepts of an index with one another; return one page of the pairs that
    are not dismissed and have no relationship, most similar first, and the number of all pairs.

    A pair that is not stored is an unsaved row.

    Raises:
        InvalidInput: the index has too many concepts.
        StoreUnavailable: retry helps.
    """
    concepts = Concept.objects.visible_to(grant).filter(index=index)
    if concepts.count() > MAX_CONCEPTS_COMPARED:
        raise InvalidInput(
            "min_similarity may be lower than STRATA_EMERGENT_SIMILARITY only if the index has at "
            f"most {MAX_CONCEPTS_COMPARED:,} concepts.",
            field="min_similarity",
            fix="Leave out min_similarity, or lower STRATA_EMERGENT_SIMILARITY, so that more "
            "pairs are stored.",
        )
    ids, vectors = _read_vectors(index, sorted(concepts.values_list("pk", flat=True)), grant)
    best, count = _rank_pairs(
        vectors, _find_closed_pairs(index, ids), min_similarity, count=offset + limit
    )
    page = [(ids[first], ids[second], score) for score, first, second in best[offset:]]
    ends = {end for first, second, _ in page for end in (first, second)}
    shown = Concept.objects.in_bulk(list(ends))
    stored = EmergentPair.objects.filter(first__in=ends, second__in=ends)
    stored_pairs = {(pair.first_id, pair.second_id): pair for pair in stored}
    pairs = []
    for first, second, score in page:
        if first in shown and second in shown:
            pair = stored_pairs.get((first, second), EmergentPair(similarity=score))
            pair.first, pair.second = shown[first], shown[second]
            pairs.append(pair)
    return pairs, count


def _read_vectors(
    index: str, ids: list[UUID], grant: Grant
) -> tuple[list[UUID], NDArray[np.float32]]:
    """The concepts that are embedded in the live build, with their vectors of unit length."""
    build = IndexBuild.objects.live().filter(index=index).first()
    vectors: dict[UUID, DenseVector] = {}
    if build is not None and build.spec.concepts is not None:
        points = VisiblePoints(grant)
        for part in slices(ids, _POINTS_PER_REQUEST):
            stored = points.retrieve(build.collection("concept"), part, with_vectors=True)
            vectors |= {pk: each.dense for pk, each in stored.items() if each.dense is not None}
    embedded_ids = [pk for pk in ids if pk in vectors]
    if not embedded_ids:
        return [], np.zeros((0, 0), dtype=np.float32)
    matrix = np.stack([vectors[pk] for pk in embedded_ids])
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return embedded_ids, (matrix / np.where(norms == 0, 1, norms)).astype(np.float32)


def _find_closed_pairs(index: str, ids: list[UUID]) -> set[tuple[int, int]]:
    """The matrix rows of the pairs that are dismissed or have a relationship; the smaller first."""
    row_by_id = {pk: row for row, pk in enumerate(ids)}
    edges = Relationship.objects.of_index(index).values_list("source_id", "target_id")
    dismissed = EmergentPair.objects.dismissed().filter(first__index=index)
    ends = [*edges, *dismissed.values_list("first_id", "second_id")]
    return {
        (min(row_by_id[one], row_by_id[other]), max(row_by_id[one], row_by_id[other]))
        for one, other in ends
        if one in row_by_id and other in row_by_id
    }


def _rank_pairs(
    vectors: NDArray[np.float32],
    closed: set[tuple[int, int]],
    min_similarity: float,
    *,
    count: int,
) -> tuple[list[_Pair], int]:
    """The ``count`` most similar pairs of rows, ties by row, and the number of all pairs."""
    closed_by_first: dict[int, list[int]] = {}
    for first, second in closed:
        closed_by_first.setdefault(first, []).append(second)
    best: list[_Pair] = []
    total = 0
    columns = np.arange(len(vectors))
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        similarities = vectors[start : start + _ROWS_AT_ONCE] @ vectors.T
        rows = np.arange(start, start + len(similarities))
        is_open = (columns > rows[:, None]) & (similarities >= min_similarity)
        for row in rows:
            is_open[row - start, closed_by_first.get(int(row), [])] = False
        firsts, seconds = np.nonzero(is_open)
        total += len(firsts)
        scores = similarities[firsts, seconds]
        order = np.lexsort((seconds, firsts, -scores))[:count]
        best += [
            (float(scores[position]), int(firsts[position]) + start, int(seconds[position]))
            for position in order
        ]
        best = sorted(best, key=lambda pair: (-pair[0], pair[1:]))[:count]
    return best, total


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
