"""Artifacts by the chemical structures they hold; together with a query in words, fused by rank:
structures and text lie in spaces of their own, whose scores cannot be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from indexing import embedding
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.search.flat import Hit, SearchAnswer, search_artifacts, search_compounds
from retrieval.search.proof import Dropped
from retrieval.search.request import SCORE_KINDS, Mode, SearchRequest

CANDIDATES = 100  # artifacts of each ranking: what lies beyond in both is not found

STRUCTURE, TEXT = "structure", "text"


@dataclass(frozen=True, slots=True)
class StructureHit:
    """An artifact, by its structure nearest to the one asked for and by its best passage: either
    is None where that search did not find the artifact. ``ranks``: of it in each, from 1."""

    score: float
    structure: Hit | None
    passage: Hit | None
    ranks: Mapping[str, int]

    @property
    def found(self) -> Hit:
        """What tells of the artifact."""
        hit = self.structure or self.passage
        assert hit is not None
        return hit


@dataclass(frozen=True, slots=True)
class StructureAnswer:
    """As ``SearchAnswer``."""

    builds: dict[str, int | None]
    score_kind: str
    hits: list[StructureHit]
    dropped: Dropped
    stale_artifact_ids: list[UUID]
    took_ms: dict[str, float]


def search_structures(request: SearchRequest, text: str | None = None) -> StructureAnswer:
    """The artifacts whose structures are nearest to ``request.query``, a SMILES, best first.

    With a ``text`` they are ranked by that as well, as ``search_artifacts`` does, and the
    reciprocals of both ranks make the score. ``request.min_score`` is for the structures alone.

    Raises:
        InvalidInput: naming the parameter; also where an index holds no structures.
        ModelUnavailable: RDKit is not installed.
        What ``search_chunks`` raises.
    """
    embedding.read_structure(request.query)
    if text is None:
        answer = search_compounds(request)
        return StructureAnswer(
            builds=answer.builds,
            score_kind=answer.score_kind,
            hits=[
                StructureHit(hit.score, hit, None, {STRUCTURE: rank})
                for rank, hit in enumerate(answer.hits, start=request.offset + 1)
            ],
            dropped=answer.dropped,
            stale_artifact_ids=answer.stale_artifact_ids,
            took_ms=answer.took_ms,
        )
    deep = replace(request, limit=CANDIDATES, offset=0)
    worded = replace(deep, query=text, mode=Mode.HYBRID, min_score=None)
    answers = {STRUCTURE: search_compounds(deep), TEXT: search_artifacts(worded)}
    return StructureAnswer(
        builds=answers[STRUCTURE].builds,
        score_kind=SCORE_KINDS[Mode.HYBRID],
        hits=_fuse(answers)[request.offset : request.offset + request.limit],
        dropped=Dropped(
            orphans=sum(answer.dropped.orphans for answer in answers.values()),
            integrity_errors=sum(answer.dropped.integrity_errors for answer in answers.values()),
        ),
        stale_artifact_ids=sorted(
            {pk for answer in answers.values() for pk in answer.stale_artifact_ids}
        ),
        took_ms=_add_times([answer.took_ms for answer in answers.values()]),
    )


def _fuse(answers: Mapping[str, SearchAnswer]) -> list[StructureHit]:
    found = {
        name: {str(hit.payload["artifact_id"]): hit for hit in answer.hits}
        for name, answer in answers.items()
    }
    rankings = [list(hits) for hits in found.values()]
    hits = []
    for artifact_id, score in reciprocal_rank_fusion(rankings):
        ranks = {
            name: ranking.index(artifact_id) + 1
            for name, ranking in zip(found, rankings, strict=True)
            if artifact_id in found[name]
        }
        structure = found[STRUCTURE].get(artifact_id)
        hits.append(StructureHit(score, structure, found[TEXT].get(artifact_id), ranks))
    return hits


def _add_times(times: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {stage: round(sum(each[stage] for each in times), 3) for stage in times[0]}
