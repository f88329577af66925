"""Add, read, change and remove documents."""

import json
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Unpack, overload

from strata_client._async.connection import AsyncMethods
from strata_client._async.polling import poll
from strata_client.bodies import (
    FileInput,
    omit_none,
    read_file_in_thread,
    require_one_content,
    split_batch,
    to_form_fields,
)
from strata_client.exceptions import ArtifactFailed, Unavailable
from strata_client.types import (
    Artifact,
    ArtifactList,
    ArtifactListOptions,
    BatchVerdict,
    Deletion,
    DocumentChanges,
    ListOptions,
    NewDocumentOptions,
    Page,
    PageList,
    PassageBox,
    PassageBoxes,
    Removal,
    Summary,
    TextDocument,
    WrittenArtifact,
)


class AsyncDocuments(AsyncMethods):
    """The methods of the client that are about documents. Pages are numbered from 0.

    A method raises ``NotFound`` if there is no index of the given name, or no artifact or page with
    the given id or number, and ``InvalidRequest`` if a value is not allowed.
    """

    async def add(
        self,
        index: str,
        *,
        text: str | None = None,
        pages: Sequence[str] | None = None,
        file: FileInput | None = None,
        **options: Unpack[NewDocumentOptions],
    ) -> WrittenArtifact:
        """Add a text, pages or a file. It can be searched once its status is ``ready``.

        Give documents that change an ``external_id``: new content with the same id is a new
        revision. A file without one is kept beside another of its name, unless ``if_exists`` is
        ``replace``. A file is read into memory.

        Raises:
            Conflict: ``if_exists`` is ``refuse``, and another document has this name.
        """
        require_one_content(text=text, pages=pages, file=file)
        content: dict[str, Any]
        if file is None:
            content = {"json": omit_none({**options, "text": text, "pages": pages})}
        else:
            files = {"file": await read_file_in_thread(file)}
            content = {"files": files, "data": to_form_fields(options)}
        return await self._connection.fetch(
            "POST", "indexes/{}/artifacts/", index, is_idempotent=True, **content
        )

    async def add_batch(self, index: str, documents: Iterable[TextDocument]) -> list[BatchVerdict]:
        """Add many texts; return a verdict for each, in order. An invalid text is ``rejected``
        and does not stop the others.

        The texts are sent in requests of about 1 MiB. After a broken connection a request is sent
        again; texts that it had already stored get the verdict ``unchanged``.
        """
        path = "indexes/{}/artifacts/batch"
        headers = {"Content-Type": "application/x-ndjson"}
        verdicts: list[BatchVerdict] = []
        for count, lines in split_batch(documents):
            response = await self._connection.send(
                "POST", path, index, is_idempotent=True, content=lines, headers=headers
            )
            part_verdicts: list[BatchVerdict] = [
                json.loads(line) for line in response.content.split(b"\n") if line
            ]
            if len(part_verdicts) != count:
                raise Unavailable(
                    f"The server returned {len(part_verdicts)} verdicts for {count} documents.",
                    code="cut",
                    fix="Send the batch again; stored documents will be unchanged.",
                )
            before = len(verdicts)
            for verdict in part_verdicts:
                verdict["line"] += before
            verdicts += part_verdicts
        return verdicts

    async def update(self, artifact_id: str, **options: Unpack[DocumentChanges]) -> Artifact:
        """Change what is given; metadata and groups are replaced as a whole. Only an artifact that
        has no ``external_id`` can be given one.

        Raises:
            Conflict: another artifact of the index has this external id.
        """
        return await self._connection.patch("artifacts/{}/", artifact_id, **options)

    async def artifact(self, artifact_id: str) -> Artifact:
        """Return an artifact with its status."""
        return await self._connection.read("artifacts/{}/", artifact_id)

    async def artifacts(self, index: str, **options: Unpack[ArtifactListOptions]) -> ArtifactList:
        """Return the artifacts of an index."""
        return await self._connection.read("indexes/{}/artifacts/", index, **options)

    async def replace(
        self,
        artifact_id: str,
        *,
        text: str | None = None,
        pages: Sequence[str] | None = None,
        file: FileInput | None = None,
    ) -> WrittenArtifact:
        """Replace the content of an artifact; its id, title, metadata and groups stay.

        Raises:
            Conflict: another artifact of the index has this content, or it is under a legal hold.
        """
        require_one_content(text=text, pages=pages, file=file)
        if file is None:
            content: dict[str, Any] = {"json": omit_none({"text": text, "pages": pages})}
        else:
            content = {"files": {"file": await read_file_in_thread(file)}}
        return await self._connection.fetch("PUT", "artifacts/{}/content", artifact_id, **content)

    async def pages(self, artifact_id: str, **options: Unpack[ListOptions]) -> PageList:
        """Return the pages of an artifact, without their text."""
        return await self._connection.read("artifacts/{}/pages/", artifact_id, **options)

    async def page(self, artifact_id: str, number: int) -> Page:
        """Return a page with its text."""
        return await self._connection.read("artifacts/{}/pages/{}/", artifact_id, number)

    async def picture(self, artifact_id: str, number: int) -> bytes:
        """Return a page of a PDF or an image as WebP, at most 1,600 pixels wide and high; of other
        files, raises ``NotFound``."""
        response = await self._connection.send(
            "GET", "artifacts/{}/pages/{}/picture", artifact_id, number
        )
        return response.content

    async def boxes(self, artifact_id: str, number: int, start: int, end: int) -> list[PassageBox]:
        """Return where a passage of a page's text stands on the page of a PDF; no box where that is
        not certain.

        Args:
            start: first character, in the page's text.
            end: one past the last.

        Raises:
            NotFound: the artifact was added as text.
        """
        answer: PassageBoxes = await self._connection.read(
            "artifacts/{}/pages/{}/boxes", artifact_id, number, start=start, end=end
        )
        return answer["boxes"]

    async def original(self, artifact_id: str) -> bytes:
        """Return the original file; of an artifact that was added as text, raises ``NotFound``."""
        response = await self._connection.send("GET", "artifacts/{}/original", artifact_id)
        return response.content

    # --- Summaries ---------------------------------------------------------------------------

    async def summary(self, artifact_id: str) -> Summary:
        """Return the summary of an artifact, its writer and its state; raises ``NotFound`` if it
        has none."""
        return await self._connection.read("artifacts/{}/summary_candidate", artifact_id)

    async def page_summary(self, page_id: str) -> Summary:
        """Return the summary of a page, as ``summary``."""
        return await self._connection.read("pages/{}/summary_candidate", page_id)

    async def write_summary(
        self, artifact_id: str, text: str | None, *, model_name: str | None = None
    ) -> Summary:
        """Write the summary of an artifact by hand; with None, the server writes it again.
        ``model_name``: what wrote the text; by default "by hand".

        Raises:
            InvalidRequest: its index has no summaries, or the text is not allowed.
        """
        return await self._write_summary("artifacts/{}/", artifact_id, text, model_name)

    async def write_page_summary(
        self, page_id: str, text: str | None, *, model_name: str | None = None
    ) -> Summary:
        """Write the summary of a page by hand, as ``write_summary``."""
        return await self._write_summary("pages/{}/", page_id, text, model_name)

    async def delete_summary(self, artifact_id: str) -> Deletion:
        """Delete the summary of an artifact. It gets no other one until ``write_summary``; reading
        it raises ``NotFound``.

        Raises:
            NotFound: it has no summary.
        """
        path = "artifacts/{}/summary_candidate"
        return await self._connection.fetch("DELETE", path, artifact_id)

    async def delete_page_summary(self, page_id: str) -> Deletion:
        """Delete the summary of a page, as ``delete_summary``; that of its artifact is written
        again."""
        return await self._connection.fetch("DELETE", "pages/{}/summary_candidate", page_id)

    async def _write_summary(
        self, path: str, id: str, text: str | None, model_name: str | None
    ) -> Summary:
        body = {**omit_none({"model_name": model_name}), "text": text}
        return await self._connection.fetch("PATCH", f"{path}summary_candidate", id, json=body)

    # --- Waiting and deleting ----------------------------------------------------------------

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
        path = "artifacts/{}/"
        async for artifact in poll(self._connection, path, artifact_id, _has_ended, deadline):
            ended: Artifact = artifact
        if ended["status"] == "failed":
            raise ArtifactFailed(ended)
        return ended

    async def delete(self, artifact_id: str) -> Removal:
        """Remove an artifact, its pages and its points. No search returns it after that, even if
        ``points`` counts points that are left; the server deletes them later.

        Raises:
            Conflict: it is under a legal hold.
        """
        return await self._connection.fetch("DELETE", "artifacts/{}/", artifact_id)


def _has_ended(artifact: Artifact) -> bool:
    return artifact["status"] in {"ready", "failed"}
