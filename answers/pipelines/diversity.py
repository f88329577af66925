"""Pipeline component that removes redundancy: maximal marginal relevance (MMR) over passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from haystack import component
from numpy.typing import NDArray

from access.grants import EVERYTHING, Grant
from answers.pipelines.run_async import add_run_async
from core.exceptions import InvalidInput
from core.marginal_relevance import choose_by_marginal_relevance
from retrieval.passages import Passage
from retrieval.search.targets import find_builds, make_targets
from retrieval.visible_points import VisiblePoints


@component
@add_run_async
@dataclass(eq=False, repr=False)
class Diversity:
    """Select passages by maximal marginal relevance; ``relevance`` 1 turns this off.

    ``relevance`` is the lambda of the formula: the weight of a passage's own score against its
    similarity to the passages selected before it.
    """

    relevance: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.relevance <= 1:
            raise InvalidInput("relevance must be between 0 and 1.", field="relevance")

    @component.output_types(passages=list[Passage])
    def run(
        self, passages: list[Passage], limit: int = 10, grant: Grant = EVERYTHING
    ) -> dict[str, Any]:
        if self.relevance == 1 or len(passages) < 2:
            return {"passages": passages}
        vectors = fetch_vectors(passages, grant)
        chosen = choose_by_marginal_relevance(
            min_max_scale([passage.score for passage in passages]),
            stack_unit_vectors([vectors.get(passage.id) for passage in passages]),
            weight=self.relevance,
            count=limit,
        )
        return {
            "passages": [
                passages[number].with_score(
                    value, "mmr", "diversity", {"rank_before": number + 1, "mmr": value}
                )
                for number, value in chosen
            ]
        }


def min_max_scale(scores: Sequence[float]) -> list[float]:
    """Scale scores linearly to 0..1, as rankers use different scales; all 1 if they are equal."""
    low, high = min(scores), max(scores)
    return [1.0 if high == low else (score - low) / (high - low) for score in scores]


def fetch_vectors(passages: Sequence[Passage], grant: Grant) -> Mapping[str, NDArray[np.float32]]:
    """Passage id -> stored dense vector; passages whose point no longer exists are left out."""
    hit = passages[0].hit
    ids = [passage.hit.node_id for passage in passages]
    vectors: dict[str, NDArray[np.float32]] = {}
    builds = find_builds([hit.index], grant).values()
    for target in make_targets(builds, [hit.payload["kind"]]):
        stored = VisiblePoints(grant).retrieve(target.collection, ids, with_vectors=True)
        vectors |= {str(id): point.dense for id, point in stored.items() if point.dense is not None}
    return vectors


def stack_unit_vectors(vectors: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32]:
    """Matrix (vectors, dimension) with unit rows; a missing vector is a zero row."""
    dimension = next((len(vector) for vector in vectors if vector is not None), 1)
    rows = np.stack([np.zeros(dimension) if v is None else v for v in vectors])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)
