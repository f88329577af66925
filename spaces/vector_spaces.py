"""Ranks artifacts found in several vector spaces by rank: their scores cannot be compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from retrieval.fusion import reciprocal_rank_fusion
from retrieval.search.flat import SearchAnswer
from retrieval.search.request import SCORE_KINDS, Mode, SearchOptions
from retrieval.search.run import AnyAnswer, Hit, add_up

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsAnswer(AnyAnswer):
    score_kind: str
    hits: list[ArtifactHit]


def answer_from_spaces(
    answers: Mapping[str, SearchAnswer], options: SearchOptions
) -> ArtifactsAnswer:
    """The artifacts of one space with its scores, or of several, fused by reciprocal rank."""
    first, *others = answers.values()
    if others:
        hits = _fuse_spaces(answers)[options.offset : options.offset + options.limit]
    else:
        [space] = answers
        hits = [
            ArtifactHit(hit.score, {space: hit}, {space: rank})
            for rank, hit in enumerate(first.hits, start=options.offset + 1)
        ]
    return ArtifactsAnswer(
        builds=first.builds,
        score_kind=SCORE_KINDS[Mode.HYBRID] if others else first.score_kind,
        hits=hits,
        **add_up(list(answers.values())),
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
