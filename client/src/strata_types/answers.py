"""Answers to questions, and the query pipelines that find what they cite."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from strata_types.common import AnyList
from strata_types.concepts import Instance, Relationship
from strata_types.searches import (
    ConditionOptions,
    DroppedPoints,
    Filter,
    Hit,
    QuestionHit,
    VersionsOption,
)


class Turn(TypedDict):
    """An earlier question of a conversation, and its answer."""

    question: str
    answer: str


class AskOptions(VersionsOption, ConditionOptions, total=False):
    filter: Filter | None
    """In addition to filters in the question."""
    pipeline: str | None
    limit: int | None
    """Of hits."""
    explain: bool | None
    why_not: str | None
    """Id of a node or an artifact; the pipeline reports where it was lost."""
    history: list[Turn] | None
    """What was asked before, the first question first; a language model rewrites a follow-up."""


class PipelineRank(TypedDict):
    """The score and steps that a query pipeline adds to a hit."""

    score_kind: str
    """Set by the last component that ranked the hit: `rrf`, `standard_score`,
    `similarity_and_rank`, `cross_encoder`, `mmr`, or the name of a postprocessor."""
    similarity: float | None
    """Cosine to the question; null if it no longer has a vector."""
    explain: NotRequired[list[dict[str, Any]]]
    """What each component did to it, in order."""


class AnswerHit(Hit, PipelineRank):  # type: ignore[misc]
    """A chunk that an answer may cite, as a query pipeline ranked it."""


class AnswerQuestionHit(QuestionHit, PipelineRank):  # type: ignore[misc]
    """A chunk that its question found: of an index that holds questions and no chunks."""


class Citation(TypedDict):
    """A sentence of an answer and the words of a source that it cites."""

    number: int
    """Number of the hit, counted from 1."""
    answer_start: int
    """Unicode code points, in the answer."""
    answer_end: int
    node_id: str
    artifact_id: str
    source_id: str
    start_offset: int
    """Unicode code points, in the source's text."""
    end_offset: int
    is_supported: bool
    """Whether the passage supports the sentence. If not, the offsets are those of the whole
    passage."""


class Refusal(TypedDict):
    """The reason why an irrelevant question is not answered."""

    detail: str
    fix: str | None


class NumberedQuote(Instance):
    number: int
    """Number of the hit that holds the quote, counted from 1."""


class QuotedRelationship(Relationship):
    """A relationship of concepts that the hits quote. It was written by people or extracted from
    documents; its quotes show where the documents mention its concepts."""

    quotes: list[NumberedQuote]
    """The first quote of each of its concepts that a hit holds: one or two."""


class AnswerMetadata(TypedDict):
    """What was found, before an answer is written."""

    index: str
    build: int | None
    pipeline: str
    relevant: bool | None
    """Whether the question concerns this index; null if that cannot be told. False is a refusal."""
    refusal: Refusal | None
    hits: list[AnswerHit | AnswerQuestionHit]
    relationships: list[QuotedRelationship]
    """Of the concepts that the hits quote; those first that the question names."""
    filters: dict[str, Any]
    """The filter that all hits satisfy; empty if there is none."""
    parsed: dict[str, Any]
    """What the pipeline parsed from the question."""
    question: str
    """What was asked. A follow-up as the language model rewrote it, so that it needs no history."""
    semantic_query: str
    """The question without the filters read from it; empty if it has only filters."""
    query: str
    """The query that was searched."""
    queries: list[str]
    identified: list[dict[str, Any]]
    notes: list[str]
    """What could not be done, one sentence each."""
    dropped: DroppedPoints
    started_at: str
    """RFC 3339, in UTC, as `found_at`."""
    found_at: str
    """When the hits were known; `took_ms.total` after `started_at`."""
    took_ms: dict[str, float]
    """By component of the pipeline, and `total`."""
    why_not: NotRequired[dict[str, Any]]
    restarted: NotRequired[bool]
    """The answer was restarted after the connection was lost."""


class AnswerEnd(TypedDict):
    """The citations of an answer, and the model that wrote it."""

    citations: list[Citation]
    unknown_marks: int
    """How many citation marks of the answer name no hit."""
    notes: list[str]
    """What could not be done for the answer, such as asking the language model."""
    model_name: str | None
    """`extractive` if the sentences are quoted from documents."""


class Answer(AnswerMetadata, AnswerEnd):
    """A complete answer: the data of all events in one object."""

    answer: str | None


class AnswerStreamEvent(TypedDict):
    """An event of the stream. The metadata and done events together hold the fields of an answer
    that is not streamed; a chunk event holds the next piece of text, and an error event the fields
    of every error."""

    id: NotRequired[str]
    """For Last-Event-ID."""
    event: Literal["metadata", "chunk", "done", "error"]
    data: str
    """A JSON object."""


# --- Query pipelines -------------------------------------------------------------------------


class PipelineComponent(TypedDict):
    name: str
    type: str
    init_parameters: dict[str, Any]


class PipelineConnection(TypedDict):
    sender: str
    """component.output"""
    receiver: str
    """component.input"""


class Pipeline(TypedDict):
    name: str
    title: str
    description: str
    components: list[PipelineComponent]
    """In the order they run."""
    connections: list[PipelineConnection]


class PipelineList(AnyList):
    results: list[Pipeline]
    mistakes: list[str]
    """The errors of the invalid files, which are left out."""
