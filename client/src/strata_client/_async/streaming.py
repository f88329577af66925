"""Stream an answer while it is written, and ask for it again after a broken connection."""

from asyncio import sleep
from collections.abc import AsyncGenerator, Mapping
from typing import Self

import httpx

from strata_client._async.connection import AsyncConnection
from strata_client.answers import AnswerEvent, Chunk, Done, EventParser, Metadata, read_event
from strata_client.exceptions import Unavailable
from strata_client.retrying import compute_backoff

MAX_RESUMPTIONS = 3  # per answer
MAX_SILENCE_SECONDS = 30.0  # the server sends a heartbeat every 10 seconds


class AsyncAnswerStream:
    """The events of one answer, each once: ``metadata``, pieces, ``done``.

    The end of a ``with`` block, closing the stream, or deleting the last reference to it closes
    the connection, and the server stops its language model. After a broken connection the stream
    asks again by itself, up to three times. Unless the answer was finished meanwhile, the server
    restarts it: a second ``Metadata``, whose ``is_restart``
    is true, invalidates the pieces before it, and ``text`` leaves them out.

    Iterating raises StrataError: the error of an ``error`` event, the refusal of the question, or
    ``Unavailable`` with code ``answer_cut`` if the stream could not resume.
    """

    def __init__(self, events: AsyncGenerator[AnswerEvent, None]) -> None:
        self._events = events
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._pieces)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerEvent:
        event = await self._events.__anext__()
        if isinstance(event, Metadata):
            self._pieces = []
        elif isinstance(event, Chunk):
            self._pieces.append(event.text)
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._events.aclose()


async def stream_answer(
    connection: AsyncConnection, question: Mapping[str, object]
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events of an answer, reconnecting with ``Last-Event-ID`` after a broken connection.

    Holds no reference to the stream object, so that an abandoned stream is closed."""
    last_id: str | None = None
    resumptions = 0
    while True:
        headers = {"Accept": "text/event-stream"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        response = await connection.send(
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
            async for content in response.aiter_bytes():
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
            await response.aclose()
        if resumptions == MAX_RESUMPTIONS:
            raise Unavailable(
                f"The answer broke off {resumptions + 1} times.",
                code="answer_cut",
                fix="Ask again.",
            ) from cause
        resumptions += 1
        await sleep(compute_backoff(resumptions))
