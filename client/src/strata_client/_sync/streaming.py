# Made of client/src/strata_client/_async/streaming.py by `make client`: edit that.
"""Stream an answer while it is written, and resume it after a broken connection."""

from collections.abc import Generator, Mapping
from time import sleep
from types import TracebackType
from typing import Self

import httpx

from strata_client._sync.connection import Connection
from strata_client.answers import AnswerEvent, Chunk, Done, EventParser, Metadata, read_event
from strata_client.exceptions import Unavailable
from strata_client.retrying import compute_backoff

MAX_RESUMPTIONS = 3  # of one answer
MAX_SILENCE_SECONDS = 30.0  # the server says something each 10


class AnswerStream:
    """The events of one answer, each once: ``metadata``, pieces, ``done``.

    Leaving it closes the connection, and the server stops its language model: at the end of a
    ``with`` block, by closing it, or once nothing refers to it any more. Where the connection
    breaks it goes on by itself, up to three times. Too late for that, or when other passages
    are found by then, the server begins anew: a second ``Metadata``, whose ``is_restart``
    is true, then voids the pieces before it; ``text`` leaves them out.

    Iterating raises StrataError: what the server's ``error`` event says, that the question
    was refused, or ``Unavailable`` with code ``answer_cut`` where it could not go on.
    """

    def __init__(self, events: Generator[AnswerEvent, None]) -> None:
        self._events = events
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._pieces)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AnswerEvent:
        event = self._events.__next__()
        if isinstance(event, Metadata):
            self._pieces = []
        elif isinstance(event, Chunk):
            self._pieces.append(event.text)
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._events.close()


def stream_answer(
    connection: Connection, question: Mapping[str, object]
) -> Generator[AnswerEvent, None]:
    """Yield the events of an answer, reconnecting with ``Last-Event-ID`` after a broken connection.

    Holds no reference to its reader, so that a stream abandoned half read is closed."""
    last_id: str | None = None
    resumptions = 0
    while True:
        headers = {"Accept": "text/event-stream"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        response = connection.send(
            "POST",
            "ask",
            is_idempotent=True,
            is_streamed=True,
            json=question,
            headers=headers,
            timeout=httpx.Timeout(
                connection.timeout, read=max(connection.timeout, MAX_SILENCE_SECONDS)
            ),
        )
        cause: httpx.RequestError | None = None
        try:
            parser = EventParser()
            for content in response.iter_bytes():
                for wire in parser.feed(content):
                    event = read_event(wire)
                    last_id = wire.id or last_id
                    if event is None:
                        continue
                    yield event
                    if isinstance(event, Done):
                        return
        except httpx.RequestError as error:
            cause = error
        finally:
            response.close()
        if resumptions == MAX_RESUMPTIONS:
            raise Unavailable(
                f"The answer broke off {resumptions + 1} times.",
                code="answer_cut",
                fix="Ask again.",
            ) from cause
        resumptions += 1
        sleep(compute_backoff(resumptions))
