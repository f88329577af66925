"""Pipeline component that fuses the rankings of several queries into one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from haystack import component

from answers.asking import QueryRanking
from core.exceptions import InvalidInput
from retrieval.fusion import RRF_K, FusedId, similarity_and_rank_fusion
from retrieval.passages import Passage


@component
@dataclass(eq=False, repr=False)
class Fusion:
    """Fuse the rankings of several queries into one.

    ``unique`` selects what is ranked: passages, or artifacts by the best passage that each query
    found in them. ``method`` is one of the formulas of ``retrieval.fusion``, with its ``w`` and
    ``rrf_k``. The component returns the best ``multiplier * limit``, so that a reranker or
    diversity component can choose from them.
    """

    method: Literal["similarity_and_rank", "reciprocal_rank"] = "similarity_and_rank"
    w: float = 0.5
    rrf_k: int = RRF_K
    multiplier: int = 5
    unique: Literal["artifact", "passage"] = "passage"

    def __post_init__(self) -> None:
        if not 0 <= self.w <= 1:
            raise InvalidInput("w must be between 0 and 1.", field="w")
        if self.rrf_k < 1:
            raise InvalidInput("rrf_k must be 1 or more.", field="rrf_k")
        if self.multiplier < 1:
            raise InvalidInput("multiplier must be 1 or more.", field="multiplier")

    @component.output_types(passages=list[Passage])
    def run(self, rankings: list[QueryRanking], limit: int = 10) -> dict[str, Any]:
        unique_rankings = [self._keep_best_per_key(ranking) for ranking in rankings]
        fused = self._fuse(unique_rankings)[: limit * self.multiplier]
        return {
            "passages": [self._merge_passages(each, rankings, unique_rankings) for each in fused]
        }

    def _keep_best_per_key(self, ranking: QueryRanking) -> dict[str, Passage]:
        """Unique key -> its best passage, best first."""
        best: dict[str, Passage] = {}
        for passage in ranking.passages:
            best.setdefault(self._unique_key(passage), passage)
        return best

    def _unique_key(self, passage: Passage) -> str:
        if self.unique == "artifact":
            return str(passage.hit.payload["artifact_id"])
        return passage.hit.passage_id

    def _fuse(self, unique_rankings: Sequence[dict[str, Passage]]) -> list[FusedId]:
        measured = [
            [(name, passage.similarity) for name, passage in ranking.items()]
            for ranking in unique_rankings
        ]
        fused = similarity_and_rank_fusion(measured, w=self.w, k=self.rrf_k)
        if self.method == "reciprocal_rank":
            fused.sort(key=lambda each: (-each.rrf, each.id))
        return fused

    def _merge_passages(
        self,
        fused: FusedId,
        rankings: Sequence[QueryRanking],
        unique_rankings: Sequence[dict[str, Passage]],
    ) -> Passage:
        """The best-ranked passage of one key, with the steps of all its passages."""
        by_rank = sorted(fused.ranks.items(), key=lambda place: (place[1], place[0]))
        first, *others = [unique_rankings[number][fused.id] for number, _ in by_rank]
        steps = (*first.steps, *(step for other in others for step in other.steps))
        is_rrf = self.method == "reciprocal_rank"
        details: dict[str, Any] = {
            "method": self.method,
            "unique": self.unique,
            "rrf": fused.rrf,
            "ranks": {rankings[number].query: rank for number, rank in fused.ranks.items()},
        }
        if not is_rrf:
            details |= {
                "w": self.w,
                "rrf_k": self.rrf_k,
                "rrf_normalised": fused.rrf_normalised,
                "mean_similarity": fused.mean_similarity,
                "contributions": {
                    "similarity": self.w * fused.mean_similarity,
                    "rank": (1 - self.w) * fused.rrf_normalised,
                },
            }
        return replace(first, steps=steps).with_score(
            fused.rrf if is_rrf else fused.score,
            "rrf" if is_rrf else "similarity_and_rank",
            "fusion",
            details,
        )
