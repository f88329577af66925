"""What optional apps register here when they start: further fields of documents in answers."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from access.grants import Grant
from documents.models import Artifact

# Documents and what the request may see -> document -> its further fields, each of its own name.
ReadFields = Callable[[Sequence[Artifact], Grant], dict[UUID, dict[str, Any]]]

_readers: list[ReadFields] = []


def register_document_fields(read: ReadFields) -> None:
    _readers.append(read)


def read_document_fields(artifacts: Sequence[Artifact], grant: Grant) -> dict[UUID, dict[str, Any]]:
    found: dict[UUID, dict[str, Any]] = {artifact.pk: {} for artifact in artifacts}
    for read in _readers:
        for artifact_id, fields in read(artifacts, grant).items():
            found[artifact_id] |= fields
    return found
