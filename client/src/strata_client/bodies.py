"""Build request bodies from the arguments of callers."""

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TypeAlias, cast

from strata_client.exceptions import InvalidRequest
from strata_client.types import EvidenceItem, TextDocument

MAX_REQUEST_BYTES = 2**20  # per request of a batch; encoding more would block an event loop
MAX_REQUEST_LINES = 1_000

MAX_FINDINGS_PER_REQUEST = 100  # the server's limit
MAX_TEXTS_PER_REQUEST = 100  # to embed; the server's limits
MAX_CHARS_PER_REQUEST = 100_000

FileInput: TypeAlias = str | os.PathLike[str] | tuple[str, bytes]
"""A path; or a file name, whose extension gives the format, and the bytes."""


def omit_none(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def require_one_content(**contents: object) -> None:
    """Check that exactly one content of a document is given.

    Raises:
        InvalidRequest: not exactly one of the values is given.
    """
    named = [name for name, content in contents.items() if content is not None]
    if len(named) != 1:
        raise InvalidRequest(
            f"A document needs one of {', '.join(contents)}; {len(named)} were given.",
            code="invalid",
            field=named[1] if named else next(iter(contents)),
        )


def to_form_fields(values: Mapping[str, object]) -> dict[str, str]:
    """Return values as form fields: metadata and groups as JSON text."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in omit_none(values).items()
    }


def read_file(file: FileInput) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    path = Path(file)
    return path.name, path.read_bytes()


async def read_file_in_thread(file: FileInput) -> tuple[str, bytes]:
    return await asyncio.to_thread(read_file, file)


def split_batch(documents: Iterable[TextDocument]) -> Iterator[tuple[int, bytes]]:
    """Yield, for each request, the number of documents and their lines of JSON."""
    lines: list[bytes] = []
    byte_count = 0
    for document in documents:
        line = json.dumps(omit_none(document), ensure_ascii=False).encode() + b"\n"
        if lines and (
            byte_count + len(line) > MAX_REQUEST_BYTES or len(lines) == MAX_REQUEST_LINES
        ):
            yield len(lines), b"".join(lines)
            lines, byte_count = [], 0
        lines.append(line)
        byte_count += len(line)
    if lines:
        yield len(lines), b"".join(lines)


def split_evidence(items: EvidenceItem | Iterable[EvidenceItem]) -> Iterator[list[EvidenceItem]]:
    """Yield the findings of each request; a single finding need not be in a list."""
    following = iter([cast(EvidenceItem, items)] if isinstance(items, dict) else items)
    while batch := list(islice(following, MAX_FINDINGS_PER_REQUEST)):
        yield batch


def split_texts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts of each request to embed."""
    batch: list[str] = []
    char_count = 0
    for text in texts:
        is_full = len(batch) == MAX_TEXTS_PER_REQUEST
        if batch and (is_full or char_count + len(text) > MAX_CHARS_PER_REQUEST):
            yield batch
            batch, char_count = [], 0
        batch.append(text)
        char_count += len(text)
    if batch:
        yield batch
