"""Passages that say something else each, rather than the same thing twice."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from haystack import component
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from indexing.stores import get_store
from retrieval.passages import Passage, Step
from retrieval.pipelines.threads import in_threads
from retrieval.search.targets import find_builds, make_targets


@component
@in_threads
class Diversity:
    """Picks passages by maximal marginal relevance; with ``relevance`` 1 all pass unchanged.

    ``relevance`` is the lambda of the formula: how much a passage's own score counts against
    its likeness to those picked before it.
    """

    def __init__(self, relevance: float = 1.0) -> None:
        if not 0 <= relevance <= 1:
            raise InvalidInput("relevance lies between 0 and 1.", field="relevance")
        self.relevance = relevance

    @component.output_types(passages=list[Passage])
    def run(self, passages: list[Passage], limit: int = 10) -> dict[str, Any]:
        """
        Raises:
            StoreUnavailable: retry helps.
        """
        if self.relevance == 1 or len(passages) < 2:
            return {"passages": passages}
        vectors = read_vectors(passages)
        picked = pick_diverse(
            scale_scores([passage.score for passage in passages]),
            stack_vectors([vectors.get(passage.id) for passage in passages]),
            relevance=self.relevance,
            limit=limit,
        )
        return {
            "passages": [
                passages[number].scored(
                    value, "mmr", Step("diversity", {"rank_before": number + 1, "mmr": value})
                )
                for number, value in picked
            ]
        }


def pick_diverse(
    relevances: Sequence[float], vectors: NDArray[np.float32], *, relevance: float, limit: int
) -> list[tuple[int, float]]:
    """Rows in the order they are picked, ``limit`` at most, each with its marginal relevance.

    The next is always the one of the largest
    ``relevance * own - (1 - relevance) * nearest``: its own relevance, and its cosine to the
    most like it among those picked already (0 for the first). Ties go to the earlier row.

    Args:
        relevances: of each row, 0 to 1.
        vectors: (rows, dimension), of unit length.

    Source:
        Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering
        Documents and Producing Summaries", SIGIR 1998.
    """
    own = np.asarray(relevances, dtype=np.float64)
    nearest = np.zeros(len(own))
    is_left = np.ones(len(own), dtype=bool)
    picked: list[tuple[int, float]] = []
    for count in range(min(limit, len(own))):
        values = np.where(is_left, relevance * own - (1 - relevance) * nearest, -np.inf)
        row = int(np.argmax(values))
        picked.append((row, float(values[row])))
        is_left[row] = False
        likeness = vectors @ vectors[row]
        nearest = likeness if count == 0 else np.maximum(nearest, likeness)
    return picked


def scale_scores(scores: Sequence[float]) -> list[float]:
    """From 0 for the lowest to 1 for the highest, since they come on many scales; all 1 where
    they are the same."""
    low, high = min(scores), max(scores)
    return [1.0 if high == low else (score - low) / (high - low) for score in scores]


def read_vectors(passages: Sequence[Passage]) -> Mapping[str, NDArray[np.float32]]:
    """By passage id, as they are stored; those gone meanwhile are left out."""
    hit = passages[0].hit
    ids = [passage.hit.node_id for passage in passages]
    vectors: dict[str, NDArray[np.float32]] = {}
    for target in make_targets(find_builds([hit.index]).values(), [hit.payload["kind"]], None):
        stored = get_store().retrieve(target.collection, ids, with_vectors=True)
        vectors |= {str(id): point.dense for id, point in stored.items() if point.dense is not None}
    return vectors


def stack_vectors(vectors: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32]:
    """(vectors, dimension), each of unit length; one that is missing is like nothing."""
    dimension = next((len(vector) for vector in vectors if vector is not None), 1)
    rows = np.stack([np.zeros(dimension) if v is None else v for v in vectors])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)
