"""Cosines of found points to the query, also of points that only the sparse ranking found."""

from collections.abc import Sequence

import numpy as np

from indexing.stores import DenseVector
from retrieval.search.targets import Candidate, PointKey
from retrieval.visible_points import VisiblePoints


def measure_similarities(candidates: Sequence[Candidate]) -> dict[PointKey, float]:
    """The cosine of each candidate to the query, by key, read with one request for each target.
    Without a dense query, or if the store no longer has the point, there is none.

    Raises:
        StoreUnavailable: retry helps.
    """
    similarities: dict[PointKey, float] = {}
    for target in {id(found.target): found.target for found in candidates}.values():
        if target.dense is None:
            continue
        points = {found.point.id: found.key for found in candidates if found.target is target}
        stored = VisiblePoints(target.grant).retrieve(
            target.collection, list(points), with_vectors=True
        )
        for point_id, key in points.items():
            if point_id in stored and (vector := stored[point_id].dense) is not None:
                similarities[key] = cosine(target.dense, vector)
    return similarities


def cosine(one: DenseVector, other: DenseVector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
