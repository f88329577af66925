"""Data types passed between pipeline components: passages, rankings, contexts, answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from retrieval.search import Hit


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """The ranks and scores that one component gave to a passage, as JSON-serialisable values."""

    component: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Passage:
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

    def __deepcopy__(self, memo: object) -> Self:
        """Return self: it is immutable, and Haystack deep-copies the inputs of each component."""
        return self


@dataclass(frozen=True, slots=True)
class QueryRanking:
    """What one query found, best first."""

    query: str
    passages: list[Passage] = field(default_factory=list)

    def __deepcopy__(self, memo: object) -> Self:
        """Return self: it is immutable, and Haystack deep-copies the inputs of each component."""
        return self


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """A numbered passage that the answer can cite; ``number`` starts at 1."""

    number: int
    passage: Passage
    text: str

    def __deepcopy__(self, memo: object) -> Self:
        """Return self, as ``Passage`` does."""
        return self


@dataclass(frozen=True, slots=True)
class Citation:
    """One sentence of an answer and the passage that it cites.

    ``answer_start`` and ``answer_end`` are offsets in the answer's text, ``start_offset`` and
    ``end_offset`` those of the cited words in the passage's source. All count code points.
    ``is_supported``: whether the passage supports the sentence; if not, all of it is cited.
    """

    number: int
    answer_start: int
    answer_end: int
    node_id: str
    artifact_id: str
    source_id: str
    start_offset: int
    end_offset: int
    is_supported: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text with citations. ``model_name`` is ``extractive`` if no language model wrote
    it. ``unknown_marks`` counts the citation marks that name no passage. ``notes``: what could not
    be done, each a sentence."""

    text: str
    model_name: str
    citations: list[Citation]
    unknown_marks: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question is refused: one sentence for the user, and what to ask instead."""

    detail: str
    fix: str | None = None
