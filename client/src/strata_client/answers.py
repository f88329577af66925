"""The events of an answer, and the parser of the event stream."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from strata_client.exceptions import StrataError, error_from_event
from strata_client.types import AnswerEnd, AnswerHit, AnswerMetadata, AnswerQuestionHit, Citation

# str.splitlines(), which httpx uses, would split at U+2028 and U+0085, which JSON may contain. A
# carriage return at the end of the buffer may be the first half of a CRLF.
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


@dataclass(frozen=True, slots=True)
class Metadata:
    """What was found. It starts an answer and invalidates earlier pieces."""

    data: AnswerMetadata

    @property
    def hits(self) -> list[AnswerHit | AnswerQuestionHit]:
        return self.data["hits"]

    @property
    def is_restart(self) -> bool:
        """Whether the server restarted the answer after the connection broke."""
        return self.data.get("restarted", False)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The last event, with the citations of the answer."""

    data: AnswerEnd

    @property
    def citations(self) -> list[Citation]:
        return self.data["citations"]


AnswerEvent: TypeAlias = Metadata | Chunk | Done


@dataclass(frozen=True, slots=True)
class WireEvent:
    """``id`` is the id of the last event that had one."""

    kind: str
    data: str
    id: str | None


class EventParser:
    """Parses server-sent events from bytes that arrive in arbitrary pieces.

    Source:
        HTML Living Standard, section 9.2.6, "Interpreting an event stream".
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._kind = ""
        self._data: list[str] = []
        self._last_id: str | None = None

    def feed(self, content: bytes) -> Iterator[WireEvent]:
        *lines, self._buffer = _LINE_END.split(self._buffer + content)
        for line in lines:
            if line:
                self._read_field(line.decode(errors="replace").removeprefix("\ufeff"))
                continue
            if self._data:
                yield WireEvent(self._kind or "message", "\n".join(self._data), self._last_id)
            self._kind, self._data = "", []

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._last_id = value or None


def read_event(wire: WireEvent) -> AnswerEvent | None:
    """Return the event; None for a kind that this version does not know.

    Raises:
        StrataError: the event is an ``error`` event, or its data is not a JSON object.
    """
    if wire.kind not in {"metadata", "chunk", "done", "error"}:
        return None
    data = _read_data(wire)
    if wire.kind == "error":
        raise error_from_event(data)
    if wire.kind == "metadata":
        return Metadata(data)  # type: ignore[arg-type] # as the server declares it
    if wire.kind == "chunk":
        return Chunk(data["text"])
    return Done(data)  # type: ignore[arg-type]


def _read_data(wire: WireEvent) -> dict[str, Any]:
    try:
        data = json.loads(wire.data)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise StrataError(
            f"The stream held a {wire.kind} event that cannot be read.", code="unexpected_answer"
        )
    return data
