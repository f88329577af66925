"""The event stream of an answer, which a client can resume where its connection broke."""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from django.core.cache import cache

from core.exceptions import InvalidInput
from retrieval.passages import Answer
from retrieval.pipelines.running import AskRequest, PipelineHits, run_pipeline

logger = logging.getLogger(__name__)

RESUMABLE_SECONDS: Final = 60  # after its last event an answer can be taken up for so long
_ID_BYTES: Final = 16
_END_MARKER: Final = "end"


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How much of an answer a client has: a number of characters, or all of it.

    As the id of an event: ``<answer>.<characters>``, or ``<answer>.end``.
    """

    answer_id: str
    chars: int | None  # None: all there is

    @classmethod
    def parse(cls, text: str) -> "StreamPosition":
        """
        Raises:
            InvalidInput: it is no id of an event.
        """
        answer_id, _, reached = text.partition(".")
        if (
            answer_id.isalnum()
            and (reached == _END_MARKER or reached.isdecimal())
            and len(text) < 100
        ):
            return cls(answer_id, None if reached == _END_MARKER else int(reached))
        raise InvalidInput(
            "Last-Event-ID is not the id of an event.",
            field="Last-Event-ID",
            fix="Send the id of the last event that came, or leave it out.",
        )

    def __str__(self) -> str:
        return f"{self.answer_id}.{_END_MARKER if self.chars is None else self.chars}"


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """``kind``: ``metadata``, ``chunk``, ``done`` or ``error``. A ``metadata`` event begins an
    answer: what came before it is void. Nothing follows ``done`` or ``error``."""

    kind: str
    data: dict[str, Any]
    id: StreamPosition | None = None


@dataclass(slots=True)
class _StoredAnswer:
    """What was sent of an answer, stored so that a client can ask for the rest."""

    holder: str
    question: str  # its hash
    node_ids: list[str] = field(default_factory=list)
    text: str = ""
    done: dict[str, Any] | None = None


async def stream_answer(
    question: AskRequest,
    *,
    holder: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    since: StreamPosition | None = None,
) -> AsyncGenerator[AnswerEvent, None]:
    """The events of an answer: ``metadata``, then each piece as it comes, then ``done``.

    With ``since`` they go on where the holder's connection broke: what was written since comes
    in one piece, and the rest is written now. That begins anew, with ``metadata``, where too
    much time has passed, the question is another one, or it finds other passages by now.
    Closing the iterator stops the language model.

    Raises what ``retrieval.pipelines.running.run_pipeline`` raises.
    """
    kept = None if since is None else await _find_stored(since, holder, question)
    if since is not None and kept is not None:
        had = len(kept.text) if since.chars is None else since.chars
        if kept.done is not None:
            if had < len(kept.text):
                yield _make_chunk_event(since.answer_id, kept.text[had:], len(kept.text))
            yield AnswerEvent("done", kept.done, StreamPosition(since.answer_id, None))
            return
        async with aclosing(_resume_answer(question, since.answer_id, kept, had)) as events:
            async for event in events:
                yield event
            if kept.done is not None:
                return
    async with aclosing(
        _start_answer(question, holder, render, is_again=since is not None)
    ) as events:
        async for event in events:
            yield event


async def _start_answer(
    question: AskRequest,
    holder: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    *,
    is_again: bool,
) -> AsyncGenerator[AnswerEvent, None]:
    answer_id = secrets.token_hex(_ID_BYTES)
    kept = _StoredAnswer(holder, _hash_question(question))
    async with aclosing(run_pipeline(question)) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                kept.node_ids = [passage.id for passage in result.passages]
                await _store(answer_id, kept)
                metadata = await asyncio.to_thread(render, question, result)
                if is_again:
                    metadata["restarted"] = True
                yield AnswerEvent("metadata", metadata, StreamPosition(answer_id, 0))
            elif isinstance(result, Answer):
                yield await _store_end(answer_id, kept, result)
                return
            else:
                yield await _store_piece(answer_id, kept, result)
    yield await _store_end(answer_id, kept, None)  # a question that is not answered


async def _resume_answer(
    question: AskRequest, answer_id: str, kept: _StoredAnswer, had: int
) -> AsyncGenerator[AnswerEvent, None]:
    """The rest of an answer; nothing where its passages are no longer what is found."""
    async with aclosing(run_pipeline(replace(question, partial_answer=kept.text))) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                if [passage.id for passage in result.passages] != kept.node_ids:
                    return
                if had < len(kept.text):
                    yield _make_chunk_event(answer_id, kept.text[had:], len(kept.text))
            elif isinstance(result, Answer):
                yield await _store_end(answer_id, kept, result)
                return
            else:
                yield await _store_piece(answer_id, kept, result)
    yield await _store_end(answer_id, kept, None)


# --- Events ----------------------------------------------------------------------------------


async def _store_piece(answer_id: str, kept: _StoredAnswer, piece: str) -> AnswerEvent:
    kept.text += piece
    await _store(answer_id, kept)
    return _make_chunk_event(answer_id, piece, len(kept.text))


async def _store_end(answer_id: str, kept: _StoredAnswer, answer: Answer | None) -> AnswerEvent:
    kept.done = {
        "model_name": None if answer is None else answer.model_name,
        "citations": [] if answer is None else [asdict(each) for each in answer.citations],
        "unknown_marks": 0 if answer is None else answer.unknown_marks,
    }
    await _store(answer_id, kept)
    return AnswerEvent("done", kept.done, StreamPosition(answer_id, None))


def _make_chunk_event(answer_id: str, text: str, reached: int) -> AnswerEvent:
    return AnswerEvent("chunk", {"text": text}, StreamPosition(answer_id, reached))


# --- What is kept ----------------------------------------------------------------------------


async def _find_stored(
    since: StreamPosition, holder: str, question: AskRequest
) -> _StoredAnswer | None:
    kept: _StoredAnswer | None = await asyncio.to_thread(cache.get, _cache_key(since.answer_id))
    if kept is None or (kept.holder, kept.question) != (holder, _hash_question(question)):
        return None
    # A second connection may have got further, never less far.
    return kept if since.chars is None or since.chars <= len(kept.text) else None


async def _store(answer_id: str, kept: _StoredAnswer) -> None:
    """Before it is sent: whoever has an event finds what it was part of. The cache may be a
    server, which the event loop must not wait for."""
    await asyncio.to_thread(cache.set, _cache_key(answer_id), kept, RESUMABLE_SECONDS)


def _cache_key(answer_id: str) -> str:
    return f"answer-{answer_id}"


def _hash_question(question: AskRequest) -> str:
    return hashlib.sha256(
        json.dumps(asdict(question), sort_keys=True, default=str).encode()
    ).hexdigest()
