"""Cosines of found points to the query, also of points that only the sparse ranking found."""

from collections.abc import Sequence
from itertools import chain
from uuid import UUID

from access.grants import Grant
from indexing.embedding.vectors import cosine
from retrieval.search.targets import Candidate, PointKey
from retrieval.visible_points import VisiblePoints


def measure_similarities(rankings: Sequence[Sequence[Candidate]]) -> list[dict[PointKey, float]]:
    """For each ranking, the cosines of its candidates to the query of their target. Most are scores
    of the dense ranking. For the others, one request to each collection reads the vectors. Without
    a dense query, or if the store no longer has the point, a candidate has none.

    Raises:
        StoreUnavailable: retry helps.
    """
    unmeasured: dict[tuple[str, Grant], dict[UUID, None]] = {}
    for found in chain.from_iterable(rankings):
        if found.target.dense is not None and _get_dense_score(found) is None:
            unmeasured.setdefault(_get_collection_and_grant(found), {})[found.point.id] = None
    stored = {
        (collection, grant): VisiblePoints(grant).retrieve(collection, list(ids), with_vectors=True)
        for (collection, grant), ids in unmeasured.items()
    }
    measured: list[dict[PointKey, float]] = []
    for ranking in rankings:
        similarities: dict[PointKey, float] = {}
        for found in ranking:
            score = _get_dense_score(found)
            if score is None and found.target.dense is not None:
                point = stored[_get_collection_and_grant(found)].get(found.point.id)
                if point is not None and point.dense is not None:
                    score = cosine(found.target.dense, point.dense)
            if score is not None:
                similarities[found.key] = score
        measured.append(similarities)
    return measured


def _get_collection_and_grant(candidate: Candidate) -> tuple[str, Grant]:
    return candidate.target.collection, candidate.target.grant


def _get_dense_score(candidate: Candidate) -> float | None:
    ranking = candidate.target.ranking
    share = None if ranking is None else ranking.dense.get(candidate.point.id.int)
    return None if share is None else share.score
