"""Data types of query pipelines: the request, what passes between components, and the results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

import strata_types
from access.grants import EVERYTHING, Grant
from retrieval.passages import NotCopied, Passage, QuotedRelationship
from retrieval.search import DroppedPoints, Versions
from retrieval.search.query_syntax import ReadQuery


@dataclass(frozen=True, slots=True)
class QueryRanking(NotCopied):
    """What one query found, best first."""

    query: str
    passages: list[Passage] = field(default_factory=list)


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
    so that it needs none, and adds ``notes``. ``must``, ``must_not``, ``phrases``: as of a search.
    ``read``: the question without its quotation marks and signs, which ``run_pipeline`` reads.
    """

    index: str
    query: str
    filter: dict[str, Any] | None = None
    limit: int = 10
    pipeline: str | None = None
    wants_answer: bool = True
    explain: bool = False
    why_not: UUID | None = None
    versions: Versions = Versions.NEWEST
    grant: Grant = EVERYTHING
    holder: str = ""  # whose calls of the language model are counted
    history: Sequence[strata_types.Turn] = ()
    notes: tuple[str, ...] = ()
    must: Sequence[str] = ()
    must_not: Sequence[str] = ()
    phrases: Sequence[str] = ()
    read: ReadQuery | None = None


@dataclass(frozen=True, slots=True)
class PipelineHits:
    """The hits of a pipeline run, or the refusal, with everything that explains them.

    ``question``: what was asked; a follow-up as it was rewritten. ``semantic_query``: what the
    filters leave of it. ``query``: the query that was searched; ``queries``: its wordings.
    ``filter``: the filter that was applied; ``parsed``: the part of it read from the question.
    ``notes``: what could not be done, each a sentence. ``relevant``: None if it was not tested, or
    refused. ``relationships``: those that the passages quote. ``took_ms``: by component,
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
