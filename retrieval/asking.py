"""A question and the events of its answer, which can be taken up again where they broke off."""

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

KEPT_SECONDS: Final = 60  # after its last event an answer can be taken up for so long
_ID_BYTES: Final = 16
_END: Final = "end"


@dataclass(frozen=True, slots=True)
class Position:
    """How much of an answer someone has: so many characters of its text, or all there is.

    As the id of an event: ``<answer>.<characters>``, or ``<answer>.end``.
    """

    answer_id: str
    chars: int | None  # None: all there is

    @classmethod
    def parse(cls, text: str) -> "Position":
        """
        Raises:
            InvalidInput: it is no id of an event.
        """
        answer_id, _, reached = text.partition(".")
        if answer_id.isalnum() and (reached == _END or reached.isdecimal()) and len(text) < 100:
            return cls(answer_id, None if reached == _END else int(reached))
        raise InvalidInput(
            "Last-Event-ID is not the id of an event.",
            field="Last-Event-ID",
            fix="Send the id of the last event that came, or leave it out.",
        )

    def __str__(self) -> str:
        return f"{self.answer_id}.{_END if self.chars is None else self.chars}"


@dataclass(frozen=True, slots=True)
class Event:
    """``kind``: ``metadata``, ``chunk``, ``done`` or ``error``. A ``metadata`` event begins an
    answer: what came before it is void. Nothing follows ``done`` or ``error``."""

    kind: str
    data: dict[str, Any]
    id: Position | None = None


@dataclass(slots=True)
class _Kept:
    """What was sent of an answer, for whoever asks for the rest of it."""

    holder: str
    question: str  # its hash
    node_ids: list[str] = field(default_factory=list)
    text: str = ""
    done: dict[str, Any] | None = None


async def ask(
    question: AskRequest,
    *,
    holder: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    since: Position | None = None,
) -> AsyncGenerator[Event, None]:
    """The events of an answer: ``metadata``, then each piece as it comes, then ``done``.

    With ``since`` they go on where the holder's connection broke: what was written since comes
    in one piece, and the rest is written now. That begins anew, with ``metadata``, where too
    much time has passed, the question is another one, or it finds other passages by now.
    Closing the iterator stops the language model.

    Raises what ``retrieval.pipelines.running.run_pipeline`` raises.
    """
    kept = None if since is None else await _find_kept(since, holder, question)
    if since is not None and kept is not None:
        had = len(kept.text) if since.chars is None else since.chars
        if kept.done is not None:
            if had < len(kept.text):
                yield _chunk(since.answer_id, kept.text[had:], len(kept.text))
            yield Event("done", kept.done, Position(since.answer_id, None))
            return
        async with aclosing(_go_on(question, since.answer_id, kept, had)) as events:
            async for event in events:
                yield event
            if kept.done is not None:
                return
    async with aclosing(_begin(question, holder, render, is_again=since is not None)) as events:
        async for event in events:
            yield event


async def _begin(
    question: AskRequest,
    holder: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    *,
    is_again: bool,
) -> AsyncGenerator[Event, None]:
    answer_id = secrets.token_hex(_ID_BYTES)
    kept = _Kept(holder, _hash(question))
    async with aclosing(run_pipeline(question)) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                kept.node_ids = [passage.id for passage in result.passages]
                await _keep(answer_id, kept)
                metadata = await asyncio.to_thread(render, question, result)
                if is_again:
                    metadata["restarted"] = True
                yield Event("metadata", metadata, Position(answer_id, 0))
            elif isinstance(result, Answer):
                yield await _end(answer_id, kept, result)
                return
            else:
                yield await _add(answer_id, kept, result)
    yield await _end(answer_id, kept, None)  # a question that is not answered


async def _go_on(
    question: AskRequest, answer_id: str, kept: _Kept, had: int
) -> AsyncGenerator[Event, None]:
    """The rest of an answer; nothing where its passages are no longer what is found."""
    async with aclosing(run_pipeline(replace(question, partial_answer=kept.text))) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                if [passage.id for passage in result.passages] != kept.node_ids:
                    return
                if had < len(kept.text):
                    yield _chunk(answer_id, kept.text[had:], len(kept.text))
            elif isinstance(result, Answer):
                yield await _end(answer_id, kept, result)
                return
            else:
                yield await _add(answer_id, kept, result)
    yield await _end(answer_id, kept, None)


# --- Events ----------------------------------------------------------------------------------


async def _add(answer_id: str, kept: _Kept, piece: str) -> Event:
    kept.text += piece
    await _keep(answer_id, kept)
    return _chunk(answer_id, piece, len(kept.text))


async def _end(answer_id: str, kept: _Kept, answer: Answer | None) -> Event:
    kept.done = {
        "model_name": None if answer is None else answer.model_name,
        "citations": [] if answer is None else [asdict(each) for each in answer.citations],
        "unknown_marks": 0 if answer is None else answer.unknown_marks,
    }
    await _keep(answer_id, kept)
    return Event("done", kept.done, Position(answer_id, None))


def _chunk(answer_id: str, text: str, reached: int) -> Event:
    return Event("chunk", {"text": text}, Position(answer_id, reached))


# --- What is kept ----------------------------------------------------------------------------


async def _find_kept(since: Position, holder: str, question: AskRequest) -> _Kept | None:
    kept: _Kept | None = await asyncio.to_thread(cache.get, _key(since.answer_id))
    if kept is None or (kept.holder, kept.question) != (holder, _hash(question)):
        return None
    # A second connection may have got further, never less far.
    return kept if since.chars is None or since.chars <= len(kept.text) else None


async def _keep(answer_id: str, kept: _Kept) -> None:
    """Before it is sent: whoever has an event finds what it was part of. The cache may be a
    server, which the event loop must not wait for."""
    await asyncio.to_thread(cache.set, _key(answer_id), kept, KEPT_SECONDS)


def _key(answer_id: str) -> str:
    return f"answer-{answer_id}"


def _hash(question: AskRequest) -> str:
    return hashlib.sha256(
        json.dumps(asdict(question), sort_keys=True, default=str).encode()
    ).hexdigest()
