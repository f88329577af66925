"""Add local files, folders and JSON Lines to an index."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings

from core.exceptions import InvalidInput, StrataError, TooLarge
from core.parsers import iter_lines, load_json
from documents.originals import save_incoming_file
from documents.serializers import validate_text_artifact
from documents.services import AddOutcome, add_artifact

READ_BYTES = 1 << 20


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


def add_file(index: str, path: Path, *, groups: Sequence[str] | None = None) -> Iterator[AddResult]:
    """Add one file; add a ``.jsonl`` file whose lines are documents line by line.

    ``groups``: of each document, unless its line names groups. None: documents that are in the
    index already keep theirs.
    """
    try:
        _require_inside(path)
        if path.suffix.lower() == ".jsonl" and _has_document_lines(path):
            yield from _add_lines(index, path, groups)
            return
        with path.open("rb") as file:
            content = save_incoming_file(path.name, iter(lambda: file.read(READ_BYTES), b""))
        artifact, verdict = add_artifact(index, content, groups=groups)
    except StrataError as error:
        yield AddResult(str(path), error=error)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        yield AddResult(str(path), error=InvalidInput(f"The file cannot be read: {reason}."))
    else:
        yield AddResult(str(path), artifact.pk, verdict)


def _require_inside(path: Path) -> None:
    """
    Raises:
        InvalidInput: it is a symbolic link, which may lead to any file of the machine.
    """
    is_inside = path.is_file() and path.resolve().is_relative_to(path.parent.resolve())
    if path.is_symlink() and not is_inside:
        raise InvalidInput(
            "A symbolic link to a folder, or out of the link's own folder, is not followed.",
            fix="Give the path to which it leads.",
        )


def _has_document_lines(path: Path) -> bool:
    """Whether the first line is a document: an object with ``text`` or ``pages``."""
    with path.open("rb") as file:
        try:
            first = json.loads(file.readline(READ_BYTES))
        except ValueError:
            return False
    return isinstance(first, dict) and ("text" in first or "pages" in first)


def _add_lines(index: str, path: Path, groups: Sequence[str] | None) -> Iterator[AddResult]:
    with path.open("rb") as file:
        for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
            name = f"{path}:{line.number}"
            try:
                if line.content is None:
                    raise TooLarge(
                        f"A line may have at most {settings.STRATA_MAX_JSON_BYTES:,} bytes."
                    )
                document = validate_text_artifact(load_json(line.content))
                if document["groups"] is None:
                    document["groups"] = groups
                artifact, verdict = add_artifact(index, **document)
            except StrataError as error:
                yield AddResult(name, error=error)
            else:
                yield AddResult(name, artifact.pk, verdict)
