"""Data types passed between pipeline components: passages, rankings, contexts, answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import strata_types
from retrieval.search import Hit


class NotCopied:
    """Immutable, so it need not be copied: Haystack deep-copies the inputs of each component."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """The ranks and scores that one component gave to a passage, as JSON-serialisable values."""

    component: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Passage(NotCopied):
    """A hit inside a pipeline. The last component set ``score``, on the scale that ``score_kind``
    names; ``hit.score`` keeps the store's score. ``heading``: that of its source."""

    hit: Hit
    score: float
    score_kind: str
    similarity: float | None = None  # cosine to the query that found it, if it was measured
    steps: tuple[PipelineStep, ...] = ()
    heading: str = ""

    @property
    def id(self) -> str:
        return str(self.hit.node_id)

    def with_score(self, score: float, score_kind: str, step: PipelineStep) -> Self:
        """A copy with a new score and one more step."""
        return replace(self, score=score, score_kind=score_kind, steps=(*self.steps, step))

    def with_steps(self, steps: tuple[PipelineStep, ...]) -> Self:
        """A copy with further steps appended."""
        return replace(self, steps=(*self.steps, *steps))


@dataclass(frozen=True, slots=True)
class QueryRanking(NotCopied):
    """What one query found, best first."""

    query: str
    passages: list[Passage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AnswerContext(NotCopied):
    """A numbered passage that the answer can cite; ``number`` starts at 1."""

    number: int
    passage: Passage
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text with citations. ``model_name`` is ``extractive`` if no language model wrote
    it. ``unknown_marks`` counts the citation marks that name no passage. ``notes``: what could not
    be done, each a sentence."""

    text: str
    model_name: str
    citations: list[strata_types.Citation]
    unknown_marks: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question is refused: one sentence for the user, and what to ask instead."""

    detail: str
    fix: str | None = None
