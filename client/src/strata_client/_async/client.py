"""The client: one method for each operation of Strata's API."""

import json
from asyncio import sleep
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
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
    IndexRemoval,
    Key,
    NewKey,
    PageSearchAnswer,
    QuestionSearchAnswer,
    Removal,
    Scope,
    SearchKind,
    SearchOptions,
    SummarySearchAnswer,
    SummarySearchOptions,
    TextDocument,
)

FIRST_POLL_SECONDS = 0.1  # first pause between polls of an artifact; later ones are longer
MAX_POLL_SECONDS = 2.0


class AsyncStrata:
    """A Strata server.

    Args:
        base_url: by default ``STRATA_URL`` of the environment, then ``http://127.0.0.1:8000``.
        key: by default ``STRATA_KEY`` of the environment; ``manage.py key create NAME`` makes one.
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
        """Close the connections; no request can be sent after that."""
        await self._connection.aclose()

    # --- Indexes -----------------------------------------------------------------------------

    async def indexes(self) -> list[Index]:
        """Return the indexes that the key may read."""
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
        groups: Sequence[str] | None = None,
    ) -> Artifact:
        """Add a text, pages or a file. It can be searched once its status is ``ready``.

        Give documents that change an ``external_id``: new content with the same id is a new
        revision. A file is read into memory.

        ``groups``: who may see it. By default a new document gets the groups of the key, and a
        known one keeps its own. An empty list: all who may read the index.
        """
        require_one_content(text=text, pages=pages, file=file)
        path = f"indexes/{quote(index, safe='')}/artifacts/"
        attributes: dict[str, object] = {
            "title": title, "metadata": metadata, "external_id": external_id, "url": url,
            "groups": groups,
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
        """Add many texts; return a verdict for each, in order. An invalid text is ``rejected``
        and does not stop the others.

        The texts are sent in requests of about 1 MiB. After a broken connection a request is sent
        again; texts that it had already stored get the verdict ``unchanged``.
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

    async def update(
        self,
        artifact_id: str,
        *,
        title: str | None = None,
        metadata: Mapping[str, object] | None = None,
        url: str | None = None,
        groups: Sequence[str] | None = None,
    ) -> Artifact:
        """Change what is given; metadata and groups are replaced as a whole."""
        changes = {"title": title, "metadata": metadata, "url": url, "groups": groups}
        response = await self._connection.send(
            "PATCH",
            f"artifacts/{quote(artifact_id, safe='')}/",
            is_idempotent=True,
            json=omit_none(changes),
        )
        artifact: Artifact = read_json(response)
        return artifact

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
        """Wait until one or several artifacts can be searched completely; return it or them.

        Raises:
            ArtifactFailed: an artifact could not be read or indexed.
            NotReady: not all were ready after ``timeout`` seconds; indexing continues.
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
        """Remove an artifact, its pages and its points. No search returns it after that, even if
        ``points`` counts points that are left; the server deletes them later."""
        response = await self._connection.send(
            "DELETE", f"artifacts/{quote(artifact_id, safe='')}/", is_idempotent=False
        )
        removal: Removal = read_json(response)
        return removal

    async def delete_index(self, index: str, *, confirm: str) -> IndexRemoval:
        """Remove an index with its documents and builds; needs a key with the scope ``manage``.

        Args:
            index: the name of the index.
            confirm: the same name again.
        """
        response = await self._connection.send(
            "DELETE",
            f"indexes/{quote(index, safe='')}/",
            params={"confirm": confirm},
            is_idempotent=False,
        )
        removal: IndexRemoval = read_json(response)
        return removal

    # --- Keys --------------------------------------------------------------------------------

    async def keys(self) -> list[Key]:
        """The API keys that see no more than this client's, newest first. As the methods below, it
        needs a key with the scope ``manage``."""
        response = await self._connection.send("GET", "keys/", is_idempotent=True)
        keys: list[Key] = read_json(response)["results"]
        return keys

    async def create_key(
        self,
        name: str,
        *,
        scope: Scope = "search",
        indexes: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make an API key. Its ``secret`` is only in this answer.

        Args:
            name: no other active key may have it.
            scope: ``manage`` includes ``write``, and ``write`` includes ``search``.
            indexes: names of indexes, which need not exist yet; by default this key's.
            groups: groups whose documents it sees, beside those without groups; by default this
                key's.
            expires_at: with a time zone; by default as this key.
        """
        body = omit_none(
            {
                "name": name,
                "scope": scope,
                "indexes": indexes if indexes is None else list(indexes),
                "groups": groups if groups is None else list(groups),
                "expires_at": expires_at and expires_at.isoformat(),
            }
        )
        response = await self._connection.send("POST", "keys/", json=body, is_idempotent=False)
        key: NewKey = read_json(response)
        return key

    async def revoke_key(self, key_id: int) -> Key:
        """Revoke an API key; the next request with it is refused."""
        response = await self._connection.send(
            "DELETE", f"keys/{int(key_id)}/", is_idempotent=False
        )
        key: Key = read_json(response)
        return key

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
        """Return the best hits in one index, or in several that share an embedding model: chunks,
        summaries, or chunks by the questions they answer.

        With the ``min_revision`` of an artifact just added, the search waits up to 5 s for it and
        raises ``Conflict`` if it is not searchable by then.
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
        """Return the best artifacts, with their best pages and chunks."""
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
        """Return the answer as a stream. The request is sent when the first event is read.

        ``filter`` applies in addition to filters in the question; ``limit`` counts hits;
        ``why_not``: id of a node or an artifact; the pipeline reports where it was lost.
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
        """Return the complete answer. Internally it is streamed, so that ``timeout`` limits the
        pauses between events, not the total time."""
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
