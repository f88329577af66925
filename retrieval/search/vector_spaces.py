"""Ranks artifacts found in several vector spaces. Their scores cannot be compared, so ranks are
fused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from retrieval.fusion import reciprocal_rank_fusion
from retrieval.search.flat import Hit, SearchAnswer
from retrieval.search.hit_checks import DroppedPoints
from retrieval.search.request import SCORE_KINDS, Mode, SearchRequest

ARTIFACTS_PER_SPACE = 100  # artifacts taken from each ranking before fusing

TEXT_SPACE = "text"


@dataclass(frozen=True, slots=True)
class ArtifactHit:
    """An artifact with its best hit and its rank (from 1) in each space that found it."""

    score: float
    hit_by_space: Mapping[str, Hit]
    rank_by_space: Mapping[str, int]

    @property
    def any_hit(self) -> Hit:
        """One of its hits: all of them name the same artifact."""
        return next(iter(self.hit_by_space.values()))


@dataclass(frozen=True, slots=True)
class ArtifactsAnswer:
    """As ``SearchAnswer``."""

    builds: dict[str, int | None]
    score_kind: str
    hits: list[ArtifactHit]
    dropped: DroppedPoints
    stale_ids: list[UUID]
    took_ms: dict[str, float]
    notes: list[str]


def answer_from_one_space(
    space: str, answer: SearchAnswer, request: SearchRequest
) -> ArtifactsAnswer:
    """Convert the answer of one space; scores and ranks stay."""
    return ArtifactsAnswer(
        builds=answer.builds,
        score_kind=answer.score_kind,
        hits=[
            ArtifactHit(hit.score, {space: hit}, {space: rank})
            for rank, hit in enumerate(answer.hits, start=request.offset + 1)
        ],
        dropped=answer.dropped,
        stale_ids=answer.stale_ids,
        took_ms=answer.took_ms,
        notes=answer.notes,
    )


def answer_from_fused_spaces(
    answers: Mapping[str, SearchAnswer], request: SearchRequest
) -> ArtifactsAnswer:
    """Fuse the rankings of several spaces by reciprocal rank."""
    return ArtifactsAnswer(
        builds=next(iter(answers.values())).builds,
        score_kind=SCORE_KINDS[Mode.HYBRID],
        hits=_fuse_spaces(answers)[request.offset : request.offset + request.limit],
        dropped=DroppedPoints(
            orphans=sum(answer.dropped.orphans for answer in answers.values()),
            integrity_errors=sum(answer.dropped.integrity_errors for answer in answers.values()),
        ),
        stale_ids=sorted({pk for answer in answers.values() for pk in answer.stale_ids}),
        took_ms=_add_times([answer.took_ms for answer in answers.values()]),
        notes=[note for answer in answers.values() for note in answer.notes],
    )


def _fuse_spaces(answers: Mapping[str, SearchAnswer]) -> list[ArtifactHit]:
    found = {
        space: {str(hit.payload["artifact_id"]): hit for hit in answer.hits}
        for space, answer in answers.items()
    }
    rankings = [list(hits) for hits in found.values()]
    return [
        ArtifactHit(
            score=score,
            hit_by_space={space: hits[pk] for space, hits in found.items() if pk in hits},
            rank_by_space={
                space: ranking.index(pk) + 1
                for space, ranking in zip(found, rankings, strict=True)
                if pk in found[space]
            },
        )
        for pk, score in reciprocal_rank_fusion(rankings)
    ]


def _add_times(times: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {stage: round(sum(each[stage] for each in times), 3) for stage in times[0]}
