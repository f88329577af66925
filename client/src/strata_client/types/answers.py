"""Answers to questions."""

from typing import Any, NotRequired, TypedDict

from strata_client.types.searches import AnyHit, ChunkFields, DroppedPoints


class AnswerHit(AnyHit, ChunkFields):
    """A chunk that an answer may cite. If the index holds questions and no chunks, it has the
    fields of a ``QuestionHit`` instead."""

    score_kind: str  # of the component that ranked it last
    similarity: float | None  # cosine to the question
    explain: NotRequired[list[dict[str, Any]]]


class Citation(TypedDict):
    """A sentence of an answer and the words of a source that it cites."""

    number: int  # of the hit, counted from 1
    answer_start: int
    answer_end: int
    node_id: str
    artifact_id: str
    source_id: str
    start_offset: int
    end_offset: int
    is_supported: bool  # False: the passage does not support the sentence, and is cited as a whole


class Refusal(TypedDict):
    """The reason why an irrelevant question is not answered."""

    detail: str
    fix: str | None


class AnswerMetadata(TypedDict):
    """What was found, before an answer is written."""

    index: str
    build: int | None
    pipeline: str
    relevant: bool
    refusal: Refusal | None
    hits: list[AnswerHit]
    filters: dict[str, Any] | None
    parsed: dict[str, Any]
    query: str
    queries: list[str]
    identified: list[dict[str, Any]]
    notes: list[str]
    dropped: DroppedPoints
    took_ms: dict[str, float]
    why_not: NotRequired[dict[str, Any]]
    restarted: NotRequired[bool]


class AnswerEnd(TypedDict):
    """The citations of an answer, and the model that wrote it."""

    citations: list[Citation]
    unknown_marks: int  # citation marks of the answer that name no hit
    notes: list[str]  # what could not be done for the answer, such as asking the language model
    model_name: str | None  # ``extractive`` if the sentences are quoted from documents


class Answer(AnswerMetadata, AnswerEnd):
    """A complete answer."""

    answer: str | None
