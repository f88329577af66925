"""Add many artifacts in one request: reads JSON Lines and returns one result line for each."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InternalError, OperationalError, transaction
from django.http import StreamingHttpResponse
from rest_framework.utils.encoders import JSONEncoder

from access.grants import EVERYTHING, Grant
from access.usage_limits import free_slot, keep_batch
from core.events import Target
from core.exceptions import StrataError
from core.http_formats import Line, Readable, iter_lines
from core.serializers import make_error_json
from documents.serializers import NDJSON, render_written, validate_text_artifact
from documents.services import AddOutcome, add_artifact

logger = logging.getLogger(__name__)

GROUP_LINES = 25  # lines that share a transaction: a commit waits for the disk
GROUP_BYTES = 4 * 2**20
GROUP_ATTEMPTS = 3
# A lock timeout, a deadlock or a lost connection: nothing of the group is saved, so try again.
UNSAVED = (OperationalError, InternalError)
UNCHANGED = {"rejected", str(AddOutcome.UNCHANGED)}  # verdicts of lines that changed nothing
# Between two groups. A writer that waits for SQLite's lock tries again every 25 to 100 ms: without
# a pause a long batch would keep planning from starting, and the model idle, until its last line.
PAUSE_SECONDS = 0.05
# Most clients read nothing before they have sent everything; server and client would then wait for
# each other forever. This much fits in any socket's buffers; the rest is kept until the whole
# request has been read.
EARLY_RESPONSE_BYTES = 32 * 2**10
RESPONSE_MEMORY_BYTES = 2**20


class BatchResponse(StreamingHttpResponse):
    """The verdicts of a batch. ``config.request_handling`` makes them in threads of their own."""

    def __init__(self, verdicts: Iterator[bytes], slot: str) -> None:
        """``slot``: as ``take_batch`` returned it; it is freed at the end."""
        self.slot = ExitStack()
        self.slot.callback(free_slot, slot)
        super().__init__(self._send(verdicts, slot), content_type=NDJSON)

    def _send(self, verdicts: Iterator[bytes], slot: str) -> Iterator[bytes]:
        for lines in verdicts:
            keep_batch(slot)
            yield lines
        self.slot.close()  # before the client sees the end, and may send its next batch

    def close(self) -> None:
        super().close()
        self.slot.close()


def add_batch(
    index: str,
    stream: Readable,
    grant: Grant = EVERYTHING,
    note: Callable[[list[Target]], None] = lambda targets: None,
) -> Iterator[bytes]:
    """Add each line of a stream to an index; yield one JSON result line for each, in order.

    Each step adds one group of lines. It yields nothing if their verdicts are sent later.

    A verdict is sent only after its artifact is committed, so a broken connection loses nothing
    that was acknowledged. Lines sent again are ``unchanged``. ``note`` is told the documents
    that a group changes, in the group's transaction.
    """
    early_byte_count = 0
    with SpooledTemporaryFile(max_size=RESPONSE_MEMORY_BYTES) as delayed_response:
        for group in _group_lines(iter_lines(stream, limit=settings.STRATA_MAX_JSON_BYTES)):
            lines = b"".join(
                json.dumps(verdict, ensure_ascii=False, cls=JSONEncoder).encode() + b"\n"
                for verdict in _add_group(index, group, grant, note)
            )
            if early_byte_count + len(lines) <= EARLY_RESPONSE_BYTES:
                early_byte_count += len(lines)
                yield lines
            else:
                early_byte_count = EARLY_RESPONSE_BYTES
                delayed_response.write(lines)
                yield b""
            time.sleep(PAUSE_SECONDS)
        delayed_response.seek(0)
        while lines := delayed_response.read(2**16):
            yield lines


def _group_lines(lines: Iterator[Line]) -> Iterator[list[Line]]:
    group: list[Line] = []
    byte_count = 0
    for line in lines:
        group.append(line)
        byte_count += len(line.content or b"")
        if len(group) >= GROUP_LINES or byte_count >= GROUP_BYTES:
            yield group
            group, byte_count = [], 0
    if group:
        yield group


def _add_group(
    index: str, group: list[Line], grant: Grant, note: Callable[[list[Target]], None]
) -> list[dict[str, Any]]:
    for tries_left in reversed(range(GROUP_ATTEMPTS)):
        try:
            with transaction.atomic():
                verdicts = [_add_line(index, line, grant) for line in group]
                changed = [each for each in verdicts if each["verdict"] not in UNCHANGED]
                note([(index, each["id"], each["revision"]) for each in changed])
                return verdicts
        except UNSAVED:
            logger.warning("A group of a batch could not be stored", exc_info=not tries_left)
    error = {
        "code": "database_unavailable",
        "detail": "The database did not save this line; send it again.",
    }
    return [_rejected(line, error) for line in group]


def _add_line(index: str, line: Line, grant: Grant) -> dict[str, Any]:
    try:
        data = validate_text_artifact(line.load_json())
        # A savepoint: if the database refuses a line, the others of the group stay.
        with transaction.atomic():
            artifact, verdict = add_artifact(index, **data, grant=grant)
    except StrataError as error:
        return _rejected(line, make_error_json(error))
    except UNSAVED:
        raise
    except (DatabaseError, ValueError, TypeError):
        # A defect of the server; the lines after this one are still added.
        logger.exception("Line %d of a batch could not be stored", line.number)
        return _rejected(
            line, {"code": "server_error", "detail": "The server could not store this line."}
        )
    return {
        "line": line.number,
        "id": str(artifact.pk),
        "revision": artifact.revision,
        **render_written(artifact, verdict),
    }


def _rejected(line: Line, error: dict[str, Any]) -> dict[str, Any]:
    return {"line": line.number, "verdict": "rejected", "error": error}
