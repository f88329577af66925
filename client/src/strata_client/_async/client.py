"""The client."""

from collections.abc import Mapping
from typing import Any, Self, Unpack

import httpx

from strata_client._async.concepts import AsyncConcepts
from strata_client._async.connection import AsyncConnection, read_json
from strata_client._async.documents import AsyncDocuments
from strata_client._async.evaluations import AsyncEvaluations
from strata_client._async.evidence import AsyncEvidence
from strata_client._async.indexes import AsyncIndexes
from strata_client._async.relationships import AsyncRelationships
from strata_client._async.searches import AsyncSearches
from strata_client._async.streaming import AsyncAnswerStream, stream_answer
from strata_client.answers import Done, Metadata
from strata_client.bodies import omit_none
from strata_client.exceptions import StrataError
from strata_client.types import Answer, AnswerEnd, AnswerMetadata, AskOptions


class AsyncStrata(AsyncDocuments, AsyncIndexes, AsyncSearches):
    """A Strata server.

    Args:
        base_url: by default ``STRATA_URL`` of the environment, then ``http://127.0.0.1:8000``.
        key: by default ``STRATA_KEY`` of the environment; ``strata key create NAME`` makes one.
        timeout: seconds for each of connecting, sending and waiting for an answer.
        retries: the maximum number of retries of one request.
        transport: an httpx transport, for proxies, certificates or tests.

    Every method raises ``StrataError``. The client retries, after a growing, random pause:

    - any request that the server answers with 429 or 503 and ``Retry-After`` (at most 60 s), after
      that time, and any request that could not connect;
    - reads, searches, questions and adding documents also after a broken connection, 502, 503 and
      504. Adding a document twice is safe: the server recognises it by its ``external_id``; without
      one, a file by its bytes and a text by its pages, title and url.

    It never retries a request that timed out, and retries deletions and evidence only as in the
    first case.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        connection = AsyncConnection(
            base_url, key, timeout=timeout, retries=retries, transport=transport
        )
        super().__init__(connection)
        self.concepts = AsyncConcepts(connection)
        self.evaluations = AsyncEvaluations(connection)
        self.evidence = AsyncEvidence(connection)
        self.relationships = AsyncRelationships(connection)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; no request can be sent after that."""
        await self._connection.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str | int | float | bool] | None = None,
    ) -> Any:
        """Send a request for which there is no method; return the JSON of the answer, or None.

        It is retried as a read if ``method`` is ``GET``, else as a deletion.

        Args:
            path: below ``api/v1/``, such as ``indexes/plain/builds/``.
            json: the body.
            params: the query string.
        """
        response = await self._connection.send(
            method, path, is_idempotent=method.upper() == "GET", params=params, json=json
        )
        return read_json(response) if response.content else None

    # --- Questions ---------------------------------------------------------------------------

    def ask(self, index: str, query: str, **options: Unpack[AskOptions]) -> AsyncAnswerStream:
        """Return the answer as a stream. The request is sent when the first event is read."""
        question = omit_none({"index": index, "query": query, **options})
        return AsyncAnswerStream(stream_answer(self._connection, question))

    async def answer(self, index: str, query: str, **options: Unpack[AskOptions]) -> Answer:
        """Return the complete answer. Internally it is streamed, so that ``timeout`` limits the
        pauses between events, not the total time."""
        metadata: AnswerMetadata | None = None
        end: AnswerEnd | None = None
        async with self.ask(index, query, **options) as events:
            async for event in events:
                if isinstance(event, Metadata):
                    metadata = event.data
                elif isinstance(event, Done):
                    end = event.data
        if metadata is None or end is None:
            raise StrataError("The stream of the answer was incomplete.", code="unexpected_answer")
        return {**metadata, **end, "answer": events.text or None}
