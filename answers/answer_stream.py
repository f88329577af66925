"""The event stream of an answer; a client whose connection broke can ask for the rest."""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.core.cache import cache

from access.grants import Grant
from answers.asking import Answer, AskRequest, PipelineHits
from answers.pipelines.running import run_pipeline
from core.exceptions import InvalidInput
from documents.groups import is_visible
from indexing.models import Node
from retrieval.event_loop import run_in_thread

logger = logging.getLogger(__name__)

RESUMABLE_SECONDS: Final = 60  # seconds during which the rest of a finished answer can be had
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
        """Read the position from the id of an event. Raises ``InvalidInput``: ``text`` is not an
        event id."""
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


class JoinedAnswer:
    """The events of an answer as one object."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self._notes: list[str] = []
        self._pieces: list[str] = []

    def add(self, kind: str, data: Mapping[str, Any]) -> str | None:
        """Add an event. Returns what to tell whoever waits."""
        if kind == "chunk":
            self._pieces.append(data["text"])
            return self._pieces[-1]
        self.content |= data
        self._notes += data["notes"]
        return f"Found {len(data['hits'])} passages." if kind == "metadata" else None

    def break_off(self, error: Exception) -> None:
        """Keep what was found, without the answer. Raises ``error``: nothing was found yet."""
        if not self.content:
            raise error
        self._pieces, self._notes = [], [*self._notes, f"No answer was written: {error}"]
        self.content |= make_done_data(None)

    def as_json(self) -> dict[str, Any]:
        answer = "".join(self._pieces) or None
        return {**self.content, "answer": answer, "notes": self._notes}


@dataclass(frozen=True, slots=True)
class _StoredAnswer:
    """A finished answer, stored so that a client whose connection broke can ask for the rest."""

    caller: str
    question_hash: str
    node_ids: list[str]
    text: str
    done_data: dict[str, Any]


async def stream_answer(
    question: AskRequest,
    *,
    caller: str,
    render: Callable[[AskRequest, PipelineHits], dict[str, Any]],
    resume_from: StreamPosition | None = None,
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of an answer: ``metadata``, then a ``chunk`` for each piece, then ``done``.

    With ``resume_from`` the rest of a finished answer is sent in one chunk. The answer restarts
    with ``metadata`` if it was not finished, too much time has passed or the question differs.
    Closing the iterator stops the language model.

    Raises what ``answers.pipelines.running.run_pipeline`` raises.
    """
    stored = None if resume_from is None else await _find_stored(resume_from, caller, question)
    if resume_from is not None and stored is not None:
        answer_id, received_chars = resume_from.answer_id, resume_from.chars
        if received_chars is not None and received_chars < len(stored.text):
            rest = stored.text[received_chars:]
            yield _make_chunk_event(answer_id, rest, len(stored.text))
        yield AnswerEvent("done", stored.done_data, StreamPosition(answer_id, None))
        return
    answer_id = secrets.token_hex(_ID_BYTES)
    node_ids: list[str] = []
    text = ""
    answer: Answer | None = None  # none after a refusal, for example
    async with aclosing(run_pipeline(question)) as results:
        async for result in results:
            if isinstance(result, PipelineHits):
                node_ids = [passage.id for passage in result.passages]
                metadata = await run_in_thread(render, question, result)
                if resume_from is not None:
                    metadata["restarted"] = True
                yield AnswerEvent("metadata", metadata, StreamPosition(answer_id, 0))
            elif isinstance(result, Answer):
                answer = result
            else:
                text += result
                yield _make_chunk_event(answer_id, result, len(text))
    done_data = make_done_data(answer)
    finished = _StoredAnswer(caller, _hash_question(question), node_ids, text, done_data)
    # In a thread, because the cache may be a server and the event loop must not wait for it.
    key = _cache_key(answer_id)
    await asyncio.to_thread(cache.set, key, asdict(finished), RESUMABLE_SECONDS)
    yield AnswerEvent("done", done_data, StreamPosition(answer_id, None))


def make_done_data(answer: Answer | None) -> dict[str, Any]:
    """The data of the last event; without an answer, after a refusal for example."""
    return {
        "model_name": None if answer is None else answer.model_name,
        "citations": [] if answer is None else answer.citations,
        "unknown_marks": 0 if answer is None else answer.unknown_marks,
        "notes": [] if answer is None else list(answer.notes),
    }


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
    return stored if position.chars is None or position.chars <= len(stored.text) else None


def _are_visible(node_ids: Sequence[str], grant: Grant) -> bool:
    """Whether the grant still includes the documents of these nodes."""
    if grant.sees_all_documents:
        return True
    nodes = Node.objects.filter(is_visible(grant, "artifact__"), point_id__in=node_ids)
    return nodes.values("point_id").distinct().count() == len(set(node_ids))


def _cache_key(answer_id: str) -> str:
    return f"answer-{answer_id}"


def _hash_question(question: AskRequest) -> str:
    return hashlib.sha256(
        json.dumps(asdict(question), sort_keys=True, default=_to_json).encode()
    ).hexdigest()


def _to_json(value: Any) -> Any:
    # The order of a set differs between processes.
    return sorted(value) if isinstance(value, frozenset) else str(value)
