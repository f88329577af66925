"""Computes pairs of similar concepts for a similarity below STRATA_EMERGENT_SIMILARITY, from which
pairs are stored, and finds the sources that bridge a pair."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from access.grants import Grant
from concepts.knowledge.query import KnowledgeQuery
from concepts.knowledge.sources import SourceHit, read_vectors, search_sources
from concepts.models import Concept, EmergentPair, Relationship
from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.search.request import Mode, SearchOptions

MAX_CONCEPTS_COMPARED = 5_000  # each with each: about a second
_ROWS_AT_ONCE = 512  # of the matrix of similarities
_SOURCES_PER_CONCEPT = 50  # nearest sources compared for a bridge
MAX_BRIDGES_SHOWN = 5  # per pair


def compute_open_pairs(
    index: str, grant: Grant, *, min_similarity: float, limit: int, offset: int
) -> tuple[list[EmergentPair], int]:
    """Compare the visible concepts of an index with one another; return one page of the pairs that
    are not dismissed and have no relationship, most similar first, and the number of all pairs.

    A pair that is not stored is an unsaved row. Raises ``InvalidInput``: the index has too many
    concepts."""
    concepts = Concept.objects.visible_to(grant).filter(index=index)
    if concepts.count() > MAX_CONCEPTS_COMPARED:
        raise InvalidInput(
            "min_similarity may be lower than STRATA_EMERGENT_SIMILARITY only if the index has at "
            f"most {MAX_CONCEPTS_COMPARED:,} concepts.",
            field="min_similarity",
            fix="Leave out min_similarity, or lower STRATA_EMERGENT_SIMILARITY, so that more "
            "pairs are stored.",
        )
    pks = sorted(concepts.values_list("pk", flat=True))
    build = IndexBuild.objects.live().filter(index=index).first()
    vectors = read_vectors(build, "concept", pks, grant)
    ids = [pk for pk in pks if pk in vectors]  # of the embedded concepts
    best, count = _rank_pairs(
        np.array([vectors[pk] for pk in ids], dtype=np.float32),
        _find_closed_pairs(index, ids),
        min_similarity,
        count=offset + limit,
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


def _find_closed_pairs(index: str, ids: Sequence[UUID]) -> NDArray[np.intp]:
    """The places in ``ids`` of pairs that are dismissed or related; the smaller first."""
    places = {pk: place for place, pk in enumerate(ids)}
    edges = Relationship.objects.of_index(index).values_list("source_id", "target_id")
    dismissed = EmergentPair.objects.dismissed().filter(first__index=index)
    ends = [*edges, *dismissed.values_list("first_id", "second_id")]
    closed = [
        sorted((places[one], places[other]))
        for one, other in ends
        if one in places and other in places
    ]
    return np.array(closed, dtype=np.intp).reshape(-1, 2)


def _rank_pairs(
    vectors: NDArray[np.float32], closed: NDArray[np.intp], min_similarity: float, *, count: int
) -> tuple[list[tuple[float, int, int]], int]:
    """The ``count`` most similar pairs, as similarity and both rows, ties by row; and the number
    of all pairs."""
    best: list[tuple[float, int, int]] = []
    total = 0
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        similarities = vectors[start : start + _ROWS_AT_ONCE] @ vectors.T
        is_open = np.triu(similarities >= min_similarity, k=start + 1)  # each pair once
        rows = closed - (start, 0)
        rows = rows[(rows[:, 0] >= 0) & (rows[:, 0] < len(is_open))]
        is_open[rows[:, 0], rows[:, 1]] = False
        firsts, seconds = np.nonzero(is_open)
        total += len(firsts)
        scores = similarities[firsts, seconds]
        order = np.lexsort((seconds, firsts, -scores))[:count]
        best += zip(
            scores[order].tolist(),
            (firsts[order] + start).tolist(),
            seconds[order].tolist(),
            strict=True,
        )
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

    Bridges are searched on each call and not stored, so new documents are included at once."""
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or "chunk" not in build.spec.kinds:
        return {}
    ids = sorted({end for pair in pairs for end in (pair.first_id, pair.second_id)})
    options = SearchOptions(
        mode=Mode.DENSE, limit=_SOURCES_PER_CONCEPT, min_similarity=min_similarity
    )
    sources: defaultdict[UUID, dict[UUID, SourceHit]] = defaultdict(dict)  # by concept
    for concept_id, vector in read_vectors(build, "concept", ids, grant).items():
        hits = search_sources(KnowledgeQuery([index], vector=vector, grant=grant), options)
        sources[concept_id] = {hit.source_id: hit for hit in hits}
    bridges = {}
    for pair in pairs:
        first, second = sources[pair.first_id], sources[pair.second_id]
        found = [Bridge(first[pk], second[pk]) for pk in first.keys() & second]
        found.sort(key=lambda bridge: (-bridge.similarity, bridge.first.source_id))
        bridges[pair.pk] = found[:MAX_BRIDGES_SHOWN]
    return bridges
