"""Has docling-serve convert a file; the only module that talks to it. Its answer is read in a child
process, by ``docling.read_answer``.

Source of the protocol: the OpenAPI description that docling-serve 1.x has at ``/docs``.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from django.conf import settings

from core.outbound import AnswerTooLong, make_client, read_json
from documents.exceptions import ReaderUnavailable
from documents.parsing.added_readers import DOCLING_SERVE, strip_label
from documents.parsing.docling import make_refusal

TIMEOUT: Final = httpx.Timeout(60, connect=5)
TRANSFER_SECONDS: Final = 600.0  # to send a file, or to receive what was read in it
MAX_STATUS_BYTES: Final = 2**16  # of an answer about a task
POLL_SECONDS: Final = 2.0
QUEUE_SECONDS: Final = 3_600.0  # behind other files
GRACE_SECONDS: Final = 60.0  # docling-serve itself ends a reading in time, between two pages
REFUSED: Final = {400, 413, 415, 422}


def list_endings() -> list[str]:
    """The endings of the files that docling-serve reads."""
    readers = settings.STRATA_READERS.items()
    return [ending for ending, reader in readers if strip_label(reader) == DOCLING_SERVE]


def convert(path: Path, suffix: str, answer: Path) -> None:
    """Write the answer for a file of this ending.

    Raises:
        ReaderUnavailable: docling-serve cannot be asked now; retry helps.
        Unparsable: it refuses the file, takes too long, or its answer is too large.
        RuntimeError: it lost the file that it was reading, which may have ended it.
    """
    options = {
        "to_formats": "json",
        "image_export_mode": "placeholder",
        "include_images": "false",
        "document_timeout": str(settings.STRATA_DOCLING_SERVE_SECONDS),
    }
    with _connected(seconds=TRANSFER_SECONDS) as client, path.open("rb") as file:
        files = {"files": (f"file{suffix}", file)}
        task = read_json(_check(client.post("/v1/convert/file/async", data=options, files=files)))
        result = f"/v1/result/{task['task_id']}"
    try:
        with _connected() as client:
            _wait(client, task)
        with (
            _connected(settings.STRATA_PARSE_MAX_EXPANDED_BYTES, TRANSFER_SECONDS) as client,
            client.stream("GET", result) as response,
            answer.open("wb") as file,
        ):
            for block in _check(response).iter_bytes():
                file.write(block)
    except ReaderUnavailable as error:
        raise RuntimeError(f"docling-serve lost the file. {error}") from error


def ping() -> None:
    """Check that docling-serve answers. Raises ``ReaderUnavailable``: docling-serve does not
    answer."""
    with _connected() as client:
        _check(client.get("/health"))


def _wait(client: httpx.Client, task: dict[str, Any]) -> None:
    """Return when the task has ended. The time that a file may take begins with its reading."""
    deadline, has_started = time.monotonic() + QUEUE_SECONDS, False
    while task["task_status"] in {"pending", "started"}:
        if task["task_status"] == "started" and not has_started:
            seconds = settings.STRATA_DOCLING_SERVE_SECONDS + GRACE_SECONDS
            deadline, has_started = time.monotonic() + seconds, True
        if time.monotonic() > deadline:
            if has_started:
                raise make_refusal("it takes longer than STRATA_DOCLING_SERVE_SECONDS")
            raise TimeoutError("docling-serve did not begin to read the file within an hour.")
        time.sleep(POLL_SECONDS)
        task = read_json(_check(client.get(f"/v1/status/poll/{task['task_id']}")))
    if task["task_status"] == "failure":
        raise make_refusal(str(task.get("error_message") or ""))


def _check(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    reason = " ".join(response.read()[:300].decode("utf-8", "replace").split())
    if response.status_code in REFUSED:
        raise make_refusal(reason)
    raise _make_error(f"it answered {response.status_code} {reason}")


@contextmanager
def _connected(
    max_bytes: int = MAX_STATUS_BYTES, seconds: float | None = None
) -> Iterator[httpx.Client]:
    """As ``make_client`` takes them."""
    key = settings.STRATA_DOCLING_SERVE_API_KEY
    headers = {"X-Api-Key": key} if key else {}
    try:
        with make_client(
            max_bytes=max_bytes,
            seconds=seconds,
            base_url=settings.STRATA_DOCLING_SERVE_URL,
            headers=headers,
            timeout=TIMEOUT,
        ) as client:
            yield client
    except AnswerTooLong as error:
        raise make_refusal("its answer is too large") from error
    except httpx.HTTPError as error:
        raise _make_error(str(error) or type(error).__name__) from error
    except (ValueError, KeyError, TypeError) as error:  # not the JSON of its protocol
        raise _make_error("its answer is not that of docling-serve") from error


def _make_error(reason: str) -> ReaderUnavailable:
    return ReaderUnavailable(
        f"docling-serve at {settings.STRATA_DOCLING_SERVE_URL} did not answer: {reason}.",
        fix="Start it, or correct STRATA_DOCLING_SERVE_URL and STRATA_DOCLING_SERVE_API_KEY.",
    )
