"""The client: one method for each operation of Strata's API."""

import json
from asyncio import sleep
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self, Unpack, get_args, overload
from urllib.parse import quote

import httpx

from strata_client._async.connection import AsyncConnection, read_json
from strata_client._async.evidence import AsyncEvidence
from strata_client._async.streaming import AsyncAnswerStream, stream_answer
from strata_client.answers import Done, Metadata
from strata_client.bodies import (
    FileInput,
    omit_none,
    read_file_in_thread,
    require_one_content,
    split_batch,
    to_form_fields,
    to_index_names,
)
from strata_client.exceptions import (
    ArtifactFailed,
    InvalidRequest,
    NotReady,
    StrataError,
    Unavailable,
)
from strata_client.types import (
    Answer,
    AnswerEnd,
    AnswerMetadata,
    Artifact,
    BatchVerdict,
    Filter,
    HierarchicalAnswer,
    HierarchicalSearchOptions,
    Index,
    PageSearchAnswer,
    QuestionSearchAnswer,
    Removal,
    SearchKind,
    SearchOptions,
    SummarySearchAnswer,
    SummarySearchOptions,
    TextDocument,
)

FIRST_POLL_SECONDS = 0.1  # between looks at an artifact that is waited for, then longer
MAX_POLL_SECONDS = 2.0


class AsyncStrata:
    """A Strata server.

    Args:
        base_url: by default ``STRATA_URL`` of the environment, then ``http://127.0.0.1:8000``.
        key: by default ``STRATA_KEY`` of the environment; ``manage.py key create NAME`` makes one.
        timeout: seconds for each of connecting, sending and waiting for an answer.
        retries: how often at most one request is sent again.
        transport: httpx's, for proxies or certificates of your own, and for tests.

    Every method raises ``StrataError``. Sent again by itself, after a growing, random pause:

    - any request that the server answers with 429 or 503 and ``Retry-After`` (of 60 s at most),
      after that time, and any that found nothing listening;
    - reads, searches and questions, and adding documents, also after a cut connection, 502, 503
      and 504. The same document given twice is one: the server knows it by its ``external_id``,
      without one a file by its bytes and a text by its pages, title and url.

    Never sent again: a request that timed out, and beyond the above a deletion or evidence.
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
        self._connection = AsyncConnection(
            base_url, key, timeout=timeout, retries=retries, transport=transport
        )
        self.evidence = AsyncEvidence(self._connection)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; nothing can be asked after that."""
        await self._connection.aclose()

    # --- Indexes -----------------------------------------------------------------------------

    async def indexes(self) -> list[Index]:
        """Return the indexes that the key may see."""
        answer: dict[str, list[Index]] = await self._connection.read("indexes/")
        return answer["results"]

    async def index(self, name: str) -> Index:
        index: Index = await self._connection.read(f"indexes/{quote(name, safe='')}/")
        return index

    # --- Documents ---------------------------------------------------------------------------

    async def add(
        self,
        index: str,
        *,
        text: str | None = None,
        pages: Sequence[str] | None = None,
        file: FileInput | None = None,
        title: str | None = None,
        metadata: Mapping[str, object] | None = None,
        external_id: str | None = None,
        url: str | None = None,
    ) -> Artifact:
        """Add a text, pages or a file. It can be searched once its status is ``ready``.

        Give an ``external_id`` to what changes: other content under it is a new revision.
        A file's bytes are held in memory.
        """
        require_one_content(text=text, pages=pages, file=file)
        path = f"indexes/{quote(index, safe='')}/artifacts/"
        attributes: dict[str, object] = {
            "title": title, "metadata": metadata, "external_id": external_id, "url": url
        }  # fmt: skip
        artifact: Artifact
        if file is None:
            body = omit_none({**attributes, "text": text, "pages": pages})
            artifact = await self._connection.post(path, body, is_idempotent=True)
        else:
            content = {"file": await read_file_in_thread(file)}
            response = await self._connection.send(
                "POST", path, is_idempotent=True, files=content, data=to_form_fields(attributes)
            )
            artifact = read_json(response)
        return artifact

    async def add_batch(self, index: str, documents: Iterable[TextDocument]) -> list[BatchVerdict]:
        """Add many texts; return a verdict for each, in order. An invalid one is ``rejected``
        and does not stop the others.

        They go in requests of about 1 MiB. After a broken connection such a part is sent again;
        what it had stored by then is told as ``unchanged``.
        """
        path = f"indexes/{quote(index, safe='')}/artifacts/batch"
        headers = {"Content-Type": "application/x-ndjson"}
        verdicts: list[BatchVerdict] = []
        for count, lines in split_batch(documents):
            response = await self._connection.send(
                "POST", path, is_idempotent=True, content=lines, headers=headers
            )
            part_verdicts: list[BatchVerdict] = [
                json.loads(line) for line in response.content.split(b"\n") if line
            ]
            if len(part_verdicts) != count:
                raise Unavailable(
                    f"Of {count} documents the server told the verdicts of {len(part_verdicts)}.",
                    code="cut",
                    fix="Give the batch again: what is stored will be unchanged.",
                )
            before = len(verdicts)
            for verdict in part_verdicts:
                verdict["line"] += before
            verdicts += part_verdicts
        return verdicts

    async def artifact(self, artifact_id: str) -> Artifact:
        artifact: Artifact = await self._connection.read(
            f"artifacts/{quote(artifact_id, safe='')}/"
        )
        return artifact

    @overload
    async def wait_until_ready(self, artifact_ids: str, *, timeout: float = ...) -> Artifact: ...

    @overload
    async def wait_until_ready(
        self, artifact_ids: list[str] | tuple[str, ...], *, timeout: float = ...
    ) -> list[Artifact]: ...

    async def wait_until_ready(
        self, artifact_ids: str | list[str] | tuple[str, ...], *, timeout: float = 300.0
    ) -> Artifact | list[Artifact]:
        """Wait until all of the artifact, or artifacts, can be searched, and return it or them.

        Raises:
            ArtifactFailed: one could not be read or indexed.
            NotReady: ``timeout`` seconds were too few for them all; indexing goes on.
        """
        deadline = monotonic() + timeout
        if isinstance(artifact_ids, str):
            return await self._wait_for(artifact_ids, deadline)
        return [await self._wait_for(artifact_id, deadline) for artifact_id in artifact_ids]

    async def _wait_for(self, artifact_id: str, deadline: float) -> Artifact:
        pause = FIRST_POLL_SECONDS
        while True:
            artifact = await self.artifact(artifact_id)
            if artifact["status"] == "ready":
                return artifact
            if artifact["status"] == "failed":
                raise ArtifactFailed(artifact)
            left = deadline - monotonic()
            if left <= 0:
                raise NotReady(
                    f"Artifact {artifact_id} is still {artifact['status']}.", code="not_ready"
                )
            await sleep(min(pause, left))
            pause = min(pause * 1.5, MAX_POLL_SECONDS)

    async def delete(self, artifact_id: str) -> Removal:
        """Remove it, its pages and its points. No search returns it after that, also where
        ``points`` says that some are left: they go by themselves."""
        response = await self._connection.send(
            "DELETE", f"artifacts/{quote(artifact_id, safe='')}/", is_idempotent=False
        )
        removal: Removal = read_json(response)
        return removal

    # --- Searches ----------------------------------------------------------------------------

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str,
        *,
        kind: Literal["pages"] = ...,
        **options: Unpack[SearchOptions],
    ) -> PageSearchAnswer: ...

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str,
        *,
        kind: Literal["summaries"],
        **options: Unpack[SummarySearchOptions],
    ) -> SummarySearchAnswer: ...

    @overload
    async def search(
        self,
        index: str | Sequence[str],
        query: str,
        *,
        kind: Literal["questions"],
        **options: Unpack[SearchOptions],
    ) -> QuestionSearchAnswer: ...

    async def search(
        self,
        index: str | Sequence[str],
        query: str,
        *,
        kind: SearchKind = "pages",
        **options: Any,
    ) -> PageSearchAnswer | SummarySearchAnswer | QuestionSearchAnswer:
        """The best hits in one index, or in several that share an embedding model: chunks,
        summaries, or chunks by the questions they answer.

        ``min_revision``, of an artifact just added, has the search wait up to 5 s for it, and
        raise ``Conflict`` where that was too short.
        """
        if kind not in get_args(SearchKind):
            raise InvalidRequest(
                f"There is no kind {kind!r} of search.",
                code="invalid",
                field="kind",
                allowed=list(get_args(SearchKind)),
            )
        answer: PageSearchAnswer = await self._search(kind, index, query, options)
        return answer

    async def search_hierarchical(
        self,
        index: str | Sequence[str],
        query: str,
        **options: Unpack[HierarchicalSearchOptions],
    ) -> HierarchicalAnswer:
        """The best artifacts, with their pages and the chunks that support them."""
        answer: HierarchicalAnswer = await self._search("hierarchical", index, query, options)
        return answer

    async def _search(
        self, kind: str, index: str | Sequence[str], query: str, options: Mapping[str, object]
    ) -> Any:
        body = omit_none({**options, "index": to_index_names(index), "query": query})
        return await self._connection.post(f"search/{kind}", body, is_idempotent=True)

    # --- Questions ---------------------------------------------------------------------------

    def ask(
        self,
        index: str,
        query: str,
        *,
        filter: Filter | None = None,
        pipeline: str | None = None,
        limit: int | None = None,
        explain: bool | None = None,
        why_not: str | None = None,
    ) -> AsyncAnswerStream:
        """The answer as it is written. Nothing is sent before the first event is asked for.

        ``filter`` holds beside what the question itself says; ``limit`` counts hits;
        ``why_not``, the id of a node or an artifact, has the pipeline say where it lost that.
        """
        question = {
            "index": index, "query": query, "filter": filter, "pipeline": pipeline,
            "limit": limit, "explain": explain, "why_not": why_not,
        }  # fmt: skip
        return AsyncAnswerStream(stream_answer(self._connection, omit_none(question)))

    async def answer(
        self,
        index: str,
        query: str,
        *,
        filter: Filter | None = None,
        pipeline: str | None = None,
        limit: int | None = None,
        explain: bool | None = None,
        why_not: str | None = None,
    ) -> Answer:
        """The answer in one piece. It comes as a stream underneath, so that ``timeout`` bounds
        the server's silence and not the writing."""
        metadata: AnswerMetadata | None = None
        end: AnswerEnd | None = None
        async with self.ask(
            index, query, filter=filter, pipeline=pipeline, limit=limit, explain=explain,
            why_not=why_not,
        ) as events:  # fmt: skip
            async for event in events:
                if isinstance(event, Metadata):
                    metadata = event.data
                elif isinstance(event, Done):
                    end = event.data
        if metadata is None or end is None:
            raise StrataError("The answer came without what was found.", code="unexpected_answer")
        return {**metadata, **end, "answer": events.text or None}
