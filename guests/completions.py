"""Conversations as OpenAI writes them, read as questions, and answers written as completions."""

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

import strata_types
from core.exceptions import InvalidInput
from core.text import clean_text
from guests.errors import Name, as_list
from guests.passages import MakeLink, get_page_number

CHARS_PER_TOKEN: Final = 4  # the usual estimate for English
SHOWN_PASSAGES: Final = 5  # where no sentence answers
SOURCES: Final = "\n\nSources:\n"
NOTHING_FOUND: Final = "Nothing was found for this question."

Penalty = Annotated[float, Field(ge=-2, le=2)] | None
Count = Annotated[int, Field(ge=1)] | None


class Part(BaseModel):
    """A part of a message. Only texts are read."""

    type: str = "text"
    text: str | None = None

    @model_validator(mode="before")
    @classmethod
    def read_text(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[list[Part] | None, BeforeValidator(as_list)] = None

    @property
    def text(self) -> str:
        parts = self.content or []
        return "\n".join(part.text for part in parts if part.type == "text" and part.text)


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class ChatBody(BaseModel):
    """What says how a model samples is checked and has no effect; other parameters are ignored."""

    model_config = ConfigDict(strict=True)

    model: Name
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None  # an answer is written once
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    frequency_penalty: Penalty = None
    presence_penalty: Penalty = None
    max_tokens: Count = None
    max_completion_tokens: Count = None

    @property
    def includes_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)


def read_conversation(
    messages: Sequence[Message], *, max_turns: int, max_question: int, max_answer: int
) -> tuple[str, list[strata_types.Turn]]:
    """The last question of the user, and the last turns before it, cut to the limits.

    Raises:
        InvalidInput: there is no message of the user.
    """
    asked = [number for number, message in enumerate(messages) if message.role == "user"]
    if not asked:
        raise InvalidInput("messages must have one with the role user.", field="messages")
    turns: list[strata_types.Turn] = []
    for message in messages[: asked[-1]]:
        text = clean_text(message.text).strip()
        if message.role == "user" and text:
            turns.append({"question": text[:max_question], "answer": ""})
        elif message.role == "assistant" and turns:
            answer = f"{turns[-1]['answer']}\n{text.partition(SOURCES)[0]}".strip()
            turns[-1]["answer"] = answer[:max_answer]
    return messages[asked[-1]].text, turns[-max_turns:]


# --- The text of an answer -------------------------------------------------------------------


class WrittenAnswer:
    """The text of an answer with its sources, and the citations in it as annotations.

    ``content``: the answer of the API. Its text comes first, unchanged, so that the offsets of its
    citations hold.
    """

    def __init__(self, content: Mapping[str, Any], link: MakeLink) -> None:
        self.text = content["answer"] or _explain(content)
        self.annotations: list[dict[str, Any]] = []
        self._link = link
        hits, citations = content["hits"], content["citations"]
        for each in citations:
            hit = hits[each["number"] - 1]
            url = link(hit, each["start_offset"], each["end_offset"])
            self._annotate(each["answer_start"], each["answer_end"], hit, url)
        if citations:
            self._list_sources(hits, citations)
        elif hits and content["model_name"] in {None, "extractive"} and not content["refusal"]:
            self._quote(hits[:SHOWN_PASSAGES])
        weak = sorted({each["number"] for each in citations if not each["is_supported"]})
        notes = [
            *content["notes"],
            *(f"Passage [{number}] does not support a sentence that cites it." for number in weak),
        ]
        self.text += "".join(f"\n\nNote: {note}" for note in notes)

    def _list_sources(
        self, hits: Sequence[Mapping[str, Any]], citations: Sequence[strata_types.Citation]
    ) -> None:
        first = {each["number"]: each for each in reversed(citations)}
        lines = []
        for number, each in sorted(first.items()):
            hit = hits[number - 1]
            url = self._link(hit, each["start_offset"], each["end_offset"])
            lines.append(f"- [{number}] [{_make_label(hit)}]({url})")
        self.text += SOURCES + "\n".join(lines)

    def _quote(self, hits: Sequence[Mapping[str, Any]]) -> None:
        for number, hit in enumerate(hits, start=1):
            quoted = " ".join((hit["text"] or "").split())
            start = len(self.text) + len("\n\n> ")
            url = self._link(hit, hit["start_offset"], hit["end_offset"])
            self.text += f"\n\n> {quoted}\n\n[{number}] [{_make_label(hit)}]({url})"
            self._annotate(start, start + len(quoted), hit, url)

    def _annotate(self, start: int, end: int, hit: Mapping[str, Any], url: str) -> None:
        cited = {"start_index": start, "end_index": end, "url": url, "title": _make_title(hit)}
        self.annotations.append({"type": "url_citation", "url_citation": cited})


def _explain(content: Mapping[str, Any]) -> str:
    """Why there is no answer."""
    refusal = content["refusal"]
    if refusal:
        return " ".join(filter(None, (refusal["detail"], refusal["fix"])))
    return "These passages were found:" if content["hits"] else NOTHING_FOUND


def _make_title(hit: Mapping[str, Any]) -> str:
    return hit["artifact"]["title"] or hit["artifact"]["file_name"] or "Untitled"


def _make_label(hit: Mapping[str, Any]) -> str:
    title = " ".join(_make_title(hit).split())
    for sign in "\\[]":
        title = title.replace(sign, f"\\{sign}")
    page = get_page_number(hit)
    return title if page is None else f"{title}, page {page}"


# --- Completions -----------------------------------------------------------------------------


@dataclass(slots=True)
class Completion:
    """Writes the completion of a conversation, whole or in chunks."""

    asked: ChatBody
    link: MakeLink
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def make_whole(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """``content``: the answer of the API."""
        written = WrittenAnswer(content, self.link)
        message = {
            "role": "assistant",
            "content": written.text,
            "refusal": None,
            "annotations": written.annotations,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        usage = self._estimate_usage(written.text)
        return self._head("chat.completion") | {"choices": [choice], "usage": usage}

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def go_on(self, piece: str) -> bytes:
        return self._chunk({"content": piece})

    def end(self, content: Mapping[str, Any]) -> Iterator[bytes]:
        """What follows the pieces of the answer."""
        written = WrittenAnswer(content, self.link)
        if rest := written.text[len(content["answer"] or "") :]:
            yield self.go_on(rest)
        if written.annotations:
            yield self._chunk({"annotations": written.annotations})
        yield self._chunk({}, finish_reason="stop")
        if self.asked.includes_usage:
            usage = self._estimate_usage(written.text)
            yield encode(self._head("chat.completion.chunk") | {"choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.asked.includes_usage else {}
        return encode(self._head("chat.completion.chunk") | {"choices": [choice]} | usage)

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.asked.model,
            "system_fingerprint": None,
        }

    def _estimate_usage(self, text: str) -> dict[str, int]:
        """By the characters: the language model that writes an answer may have been sent more."""
        prompt = sum(len(message.text) for message in self.asked.messages)
        tokens = [-(-chars // CHARS_PER_TOKEN) for chars in (prompt, len(text))]
        names = ("prompt_tokens", "completion_tokens")
        return {**dict(zip(names, tokens, strict=True)), "total_tokens": sum(tokens)}


def encode(content: Mapping[str, Any]) -> bytes:
    """An event of a stream. ``json.dumps`` writes no line breaks, so the data is one line."""
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
