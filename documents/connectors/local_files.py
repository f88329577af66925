"""Add local files, folders and JSON Lines to an index."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from core.exceptions import InvalidInput, StrataError
from core.http_formats import iter_lines
from core.text import clean_text, hash_text
from documents.originals import READ_BYTES, save_incoming_file
from documents.serializers import MAX_EXTERNAL_ID_CHARS, validate_text_artifact
from documents.services import AddOutcome, add_artifact


@dataclass(frozen=True, slots=True)
class AddResult:
    """The result of adding one file, one line of a JSON Lines file, or one paper. Without a verdict
    and an error, it was skipped: a paper without an abstract."""

    name: str
    artifact_id: UUID | None = None
    verdict: AddOutcome | None = None
    error: StrataError | None = None


def iter_files(paths: list[Path]) -> Iterator[Path]:
    """Every file below ``paths``, and every symbolic link to a folder, in order; hidden files and
    folders are skipped."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            names += (name for name in folders if Path(folder, name).is_symlink())
            yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def make_external_id(path: Path, given: Path, *, with_folder: bool = False) -> str:
    """The external id of a file found at ``given``: its path below that folder, with forward
    slashes, after the folder's own name if ``with_folder``. A file given alone: its name.

    Of a path that is longer than an external id may be, the end, after a hash of the whole.
    """
    is_below = path != given
    below = path.relative_to(given) if is_below else Path(path.name)
    if with_folder and is_below:
        below = Path(given.resolve().name, below)
    external_id = clean_text(below.as_posix())
    if len(external_id) > MAX_EXTERNAL_ID_CHARS:
        start = f"{hash_text(external_id)}/"
        external_id = start + external_id[len(start) - MAX_EXTERNAL_ID_CHARS :]
    return external_id


def add_file(
    index: str,
    path: Path,
    *,
    external_id: str | None = None,
    title: str | None = None,
    url: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    groups: Sequence[str] | None = None,
) -> Iterator[AddResult]:
    """Add one file; add a ``.jsonl`` file whose lines are documents line by line.

    Of such lines, the external id, title and URL are their own; their metadata are added to
    ``metadata``; ``groups`` are those of lines that name none. None: documents that are in the
    index already keep theirs.
    """
    try:
        is_inside = path.is_file() and path.resolve().is_relative_to(path.parent.resolve())
        if path.is_symlink() and not is_inside:  # it may lead to any file of the machine
            raise InvalidInput(
                "A symbolic link to a folder, or out of the link's own folder, is not followed.",
                fix="Give the path to which it leads.",
            )
        if has_document_lines(path):
            yield from _add_lines(index, path, metadata, groups)
            return
        with path.open("rb") as file:
            content = save_incoming_file(path.name, iter(lambda: file.read(READ_BYTES), b""))
        artifact, verdict = add_artifact(
            index,
            content,
            external_id=external_id,
            title=title,
            url=url,
            metadata=dict(metadata) if metadata is not None else None,
            groups=groups,
        )
    except StrataError as error:
        yield AddResult(str(path), error=error)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        yield AddResult(str(path), error=InvalidInput(f"The file cannot be read: {reason}."))
    else:
        yield AddResult(str(path), artifact.pk, verdict)


def has_document_lines(path: Path) -> bool:
    """Whether a ``.jsonl`` file has documents as lines: objects with ``text`` or ``pages``. Its
    first line tells."""
    if path.suffix.lower() != ".jsonl":
        return False
    with path.open("rb") as file:
        try:
            first = json.loads(file.readline(READ_BYTES))
        except ValueError:
            return False
    return isinstance(first, dict) and ("text" in first or "pages" in first)


def _add_lines(
    index: str, path: Path, metadata: Mapping[str, Any] | None, groups: Sequence[str] | None
) -> Iterator[AddResult]:
    with path.open("rb") as file:
        for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
            name = f"{path}:{line.number}"
            try:
                document = validate_text_artifact(line.load_json())
                if metadata is not None:
                    document["metadata"] = {**metadata, **(document["metadata"] or {})}
                if document["groups"] is None:
                    document["groups"] = groups
                artifact, verdict = add_artifact(index, **document)
            except StrataError as error:
                yield AddResult(name, error=error)
            else:
                yield AddResult(name, artifact.pk, verdict)
