"""The event stream of an answer, which a client can resume where its connection broke."""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from django.core.cache import cache

from access.grants import Grant
from core.exceptions import InvalidInput
from documents.groups import is_visible
from indexing.models import Node
from retrieval.event_loop import run_in_thread
from retrieval.passages import Answer
from retrieval.pipelines.running import AskRequest, PipelineHits, run_pipeline

logger = logging.getLogger(__name__)

RESUMABLE_SECONDS: Final = 60  # seconds after its last event during which an answer can be resumed
_ID_BYTES: Final = 16
_END_MARKER: Final = "end"


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How much of an answer a client has: a number of characters, or all of it.

    As the id of an event: ``<answer>.<characters>``, or ``<answer>.end``.
    """

    answer_id: str
    chars: int | None  # None: the whole answer

    @classmethod
    def parse(cls, text: str) -> "StreamPosition":
        """
        Raises:
            InvalidInput: ``text`` is not an event id.
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
    """``kind`` is ``metadata``, ``chunk``, ``done`` or ``error``. A ``metadata`` event starts an
    answer and invalidates earlier events. ``done`` and ``error`` are the last event."""

    kind: str
    data: dict[str, Any]
    id: StreamPosition | None = None


@dataclass(slots=True)
class _StoredAnswer:
    """What was sent of an answer, stored so that a client can ask for the rest."""

    caller: str
    question_hash: str
    node_ids: list[str] = field(default_factory=list)
    text: str = ""
    done_data: dict[str, Any] | None = None


async def stream_answer(
    question: AskRequest,
    *,
    caller: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    resume_from: StreamPosition | None = None,
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of an answer: ``metadata``, then a ``chunk`` for each piece, then ``done``.

    With ``resume_from`` the answer resumes there: the text written after that position is sent
    in one chunk, and the rest is generated now. It restarts with ``metadata`` if too much time has
    passed, the question differs, or the search now finds other passages. Closing the iterator
    stops the language model.

    Raises what ``retrieval.pipelines.running.run_pipeline`` raises.
    """
    stored = None if resume_from is None else await _find_stored(resume_from, caller, question)
    if resume_from is not None and stored is not None:
        received_chars = len(stored.text) if resume_from.chars is None else resume_from.chars
        if stored.done_data is not None:
            if received_chars < len(stored.text):
                yield _make_chunk_event(
                    resume_from.answer_id, stored.text[received_chars:], len(stored.text)
                )
            yield AnswerEvent("done", stored.done_data, StreamPosition(resume_from.answer_id, None))
            return
        async with aclosing(
            _resume_answer(question, resume_from.answer_id, stored, received_chars)
        ) as events:
            async for event in events:
                yield event
            if stored.done_data is not None:
                return
    async with aclosing(
        _start_answer(question, caller, render, is_restart=resume_from is not None)
    ) as events:
        async for event in events:
            yield event


async def _start_answer(
    question: AskRequest,
    caller: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    *,
    is_restart: bool,
) -> AsyncGenerator[AnswerEvent, None]:
    answer_id = secrets.token_hex(_ID_BYTES)
    stored = _StoredAnswer(caller, _hash_question(question))
    async with aclosing(run_pipeline(question)) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                stored.node_ids = [passage.id for passage in result.passages]
                await _store(answer_id, stored)
                metadata = await run_in_thread(render, question, result)
                if is_restart:
                    metadata["restarted"] = True
                yield AnswerEvent("metadata", metadata, StreamPosition(answer_id, 0))
            elif isinstance(result, Answer):
                yield await _store_end(answer_id, stored, result)
                return
            else:
                yield await _store_piece(answer_id, stored, result)
    yield await _store_end(answer_id, stored, None)  # no answer, for example after a refusal


async def _resume_answer(
    question: AskRequest, answer_id: str, stored: _StoredAnswer, received_chars: int
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the rest of an answer, or nothing if the search now finds other passages."""
    async with aclosing(run_pipeline(replace(question, partial_answer=stored.text))) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                if [passage.id for passage in result.passages] != stored.node_ids:
                    return
                if received_chars < len(stored.text):
                    yield _make_chunk_event(
                        answer_id, stored.text[received_chars:], len(stored.text)
                    )
            elif isinstance(result, Answer):
                yield await _store_end(answer_id, stored, result)
                return
            else:
                yield await _store_piece(answer_id, stored, result)
    yield await _store_end(answer_id, stored, None)


# --- Events ----------------------------------------------------------------------------------


async def _store_piece(answer_id: str, stored: _StoredAnswer, piece: str) -> AnswerEvent:
    stored.text += piece
    await _store(answer_id, stored)
    return _make_chunk_event(answer_id, piece, len(stored.text))


async def _store_end(answer_id: str, stored: _StoredAnswer, answer: Answer | None) -> AnswerEvent:
    stored.done_data = {
        "model_name": None if answer is None else answer.model_name,
        "citations": [] if answer is None else [asdict(each) for each in answer.citations],
        "unknown_marks": 0 if answer is None else answer.unknown_marks,
    }
    await _store(answer_id, stored)
    return AnswerEvent("done", stored.done_data, StreamPosition(answer_id, None))


def _make_chunk_event(answer_id: str, text: str, end_char: int) -> AnswerEvent:
    return AnswerEvent("chunk", {"text": text}, StreamPosition(answer_id, end_char))


# --- Stored answers --------------------------------------------------------------------------


async def _find_stored(
    position: StreamPosition, caller: str, question: AskRequest
) -> _StoredAnswer | None:
    values = await asyncio.to_thread(cache.get, _cache_key(position.answer_id))
    if values is None:
        return None
    stored = _StoredAnswer(**values)
    if (stored.caller, stored.question_hash) != (caller, _hash_question(question)):
        return None
    if not await run_in_thread(_are_visible, stored.node_ids, question.grant):
        return None
    # Another connection may have received more of the answer, but never less.
    return stored if position.chars is None or position.chars <= len(stored.text) else None


def _are_visible(node_ids: Sequence[str], grant: Grant) -> bool:
    """Whether the grant still includes the documents of these nodes."""
    if grant.sees_all_documents:
        return True
    nodes = Node.objects.filter(is_visible(grant, "artifact__"), point_id__in=node_ids)
    return nodes.values("point_id").distinct().count() == len(set(node_ids))


async def _store(answer_id: str, stored: _StoredAnswer) -> None:
    """Store the answer in the cache, before the event is sent, so that any event can be resumed.

    In a thread, because the cache may be a server and the event loop must not wait for it.
    """
    await asyncio.to_thread(cache.set, _cache_key(answer_id), asdict(stored), RESUMABLE_SECONDS)


def _cache_key(answer_id: str) -> str:
    return f"answer-{answer_id}"


def _hash_question(question: AskRequest) -> str:
    return hashlib.sha256(
        json.dumps(asdict(question), sort_keys=True, default=_to_json).encode()
    ).hexdigest()


def _to_json(value: Any) -> Any:
    # The order of a set differs between processes.
    return sorted(value) if isinstance(value, frozenset) else str(value)
