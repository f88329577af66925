"""Data types of query pipelines: the request, what passes between components, and the results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.utils import timezone

import strata_types
from access.grants import EVERYTHING, Grant
from retrieval.search import DroppedPoints, Hit
from text.quotable_sentences import LocatedSentence

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder


class NotCopied:
    """Immutable, so it need not be copied: Haystack deep-copies the inputs of each component."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Passage(NotCopied):
    """A hit inside a pipeline. The last component set ``score``, on the scale that ``score_kind``
    names; ``hit.score`` keeps the store's score. ``steps``: what each component did to it, as JSON.
    ``heading``: that of its source."""

    hit: Hit
    score: float
    score_kind: str
    similarity: float | None = None  # cosine to the query that found it, if it was measured
    steps: tuple[Mapping[str, Any], ...] = ()
    heading: str = ""

    @property
    def id(self) -> str:
        return str(self.hit.node_id)

    def with_score(
        self, score: float, score_kind: str, component: str, details: Mapping[str, Any]
    ) -> Self:
        """A copy with a new score and one more step."""
        steps = (*self.steps, {"component": component, **details})
        return replace(self, score=score, score_kind=score_kind, steps=steps)


@dataclass(frozen=True, slots=True)
class QueryRanking(NotCopied):
    """What one query found, best first."""

    query: str
    passages: list[Passage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AnswerContext(NotCopied):
    """A numbered passage that the answer can cite; ``number`` starts at 1. ``relationships``: those
    whose first quote it holds."""

    number: int
    passage: Passage
    text: str
    relationships: "tuple[QuotedRelationship, ...]" = ()


@dataclass(frozen=True, slots=True)
class Quote(NotCopied):
    """Words that the context holds at the offsets of ``sentence``."""

    context: AnswerContext
    sentence: LocatedSentence

    @property
    def words(self) -> str:
        return " ".join(self.sentence.text.split())


class QuotedRelationship(NotCopied, ABC):
    """What passages say together of the two things that they quote. An app finds them
    (``retrieval.hooks``)."""

    quotes: tuple[Quote, ...]  # of one of the two or of both

    @property
    @abstractmethod
    def statement(self) -> str:
        """The relationship in words."""

    @abstractmethod
    def count_named_parts(self, query: str, encoder: "Bm25Encoder") -> int:
        """How many of its parts a query names: the one thing, the other, and what joins them."""

    @abstractmethod
    def render(self) -> dict[str, Any]:
        """As the API answers it."""


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


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A request to a query pipeline.

    ``pipeline``: None for the pipeline that the live spec names. ``filter``: in the API's syntax.
    ``why_not``: id of a node or an artifact; the result says where it was lost. ``history``: the
    earlier questions of the conversation, the first first; ``run_pipeline`` rewrites the question
    so that it needs none, and adds ``notes``.
    """

    index: str
    query: str
    filter: dict[str, Any] | None = None
    limit: int = 10
    pipeline: str | None = None
    wants_answer: bool = True
    explain: bool = False
    why_not: UUID | None = None
    grant: Grant = EVERYTHING
    holder: str = ""  # whose calls of the language model are counted
    history: Sequence[strata_types.Turn] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineHits:
    """The hits of a pipeline run, or the refusal, with everything that explains them.

    ``question``: what was asked; a follow-up as it was rewritten. ``semantic_query``: what the
    filters leave of it. ``query``: the query that was searched; ``queries``: its wordings.
    ``filter``: the filter that was applied; ``parsed``: the part of it read from the question.
    ``notes``: what could not be done, each a sentence. ``relevant``: None if it was not tested, or
    refused. ``relationships``: of the concepts that the passages quote. ``took_ms``: by component,
    and ``total``.
    """

    pipeline: str
    passages: list[Passage] = field(default_factory=list)
    question: str = ""
    semantic_query: str = ""
    query: str = ""
    queries: list[str] = field(default_factory=list)
    filter: dict[str, Any] | None = None
    parsed: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    relevant: bool | None = None
    refusal: Refusal | None = None
    identified: list[dict[str, Any]] = field(default_factory=list)
    relationships: list[QuotedRelationship] = field(default_factory=list)
    builds: dict[str, int | None] = field(default_factory=dict)
    dropped: DroppedPoints = field(default_factory=DroppedPoints)
    stale_ids: list[UUID] = field(default_factory=list)  # the caller enqueues planning for these
    started_at: datetime = field(default_factory=timezone.now)
    took_ms: dict[str, float] = field(default_factory=dict)
    why_not: dict[str, Any] | None = None

    @property
    def found_at(self) -> datetime:
        """By the clock of ``took_ms``, so that a clock that is set meanwhile changes nothing."""
        return self.started_at + timedelta(milliseconds=self.took_ms.get("total", 0.0))
