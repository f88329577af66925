"""Add local files, folders and JSON Lines to an index."""

import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from core.exceptions import InvalidInput, StrataError
from core.http_formats import iter_lines
from core.text import clean_text, hash_text, is_text
from documents.identity import IfExists, Place
from documents.models import MAX_PLACE_CHARS, Artifact
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
    is_assumed: bool = False  # of a document whose place is not known, as in ``add_artifact``
    note: str = ""  # what was replaced, or why the external id is not the one to expect


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
    return _shorten(clean_text(below.as_posix()), MAX_EXTERNAL_ID_CHARS)


def make_place(path: Path, given: Path) -> Place:
    """Where a file found at ``given`` comes from. Its names: the path below that folder, the same
    after the folder's name, after the folder above it, and so on."""
    below = make_external_id(path, given)
    whole = Path(os.path.realpath(path))
    above = whole.parent.parts[1:] if path == given else Path(os.path.realpath(given)).parts[1:]
    starts = ("/".join((*above[start:], "")) for start in range(len(above), -1, -1))
    names = [_shorten(clean_text(start) + below, MAX_EXTERNAL_ID_CHARS) for start in starts]
    place = clean_text(whole.as_posix())
    if not is_text(str(whole)):  # two such names can look the same once they are cleaned
        place = f"{hashlib.sha256(os.fsencode(whole)).hexdigest()}/{place}"
    # The last name is nobody else's.
    names.append(_shorten(f"{hash_text(place)}/{below}", MAX_EXTERNAL_ID_CHARS))
    return Place(_shorten(place, MAX_PLACE_CHARS), tuple(names), _is_file_at)


def _shorten(path: str, max_chars: int) -> str:
    if len(path) <= max_chars:
        return path
    start = f"{hash_text(path)}/"
    return start + path[len(start) - max_chars :]


def _is_file_at(place: str) -> bool:
    """Whether there is a file at a place; also where that is not known, because its path was too
    long or cannot be decoded."""
    if not Path(place).is_absolute():
        return True
    return any(os.path.lexists(unicodedata.normalize(form, place)) for form in ("NFC", "NFD"))


def add_file(
    index: str,
    path: Path,
    *,
    external_id: str | None = None,
    place: Place | None = None,
    if_exists: IfExists | None = None,
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
            place=place,
            if_exists=if_exists,
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
        yield AddResult(
            str(path),
            artifact.pk,
            verdict,
            is_assumed=place is not None and not artifact.place,
            note=_describe(artifact, verdict, place),
        )


def _describe(artifact: Artifact, verdict: AddOutcome, place: Place | None) -> str:
    replaced = artifact.replaced
    if replaced is not None:
        other = f" of {replaced.place}" if replaced.place not in ("", artifact.place) else ""
        name = artifact.external_id or replaced.file_name
        version = f"{replaced.updated_at:%Y-%m-%d %H:%M} UTC{other}"
        return f"revised: {name}; it replaces the version of {version}"
    wanted = place.names[0] if place is not None and place.names else artifact.external_id
    if verdict == AddOutcome.ADDED and artifact.external_id != wanted:
        return f"added as {artifact.external_id}: {wanted} is another document"
    return ""


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
                note = _describe(artifact, verdict, None)
                yield AddResult(name, artifact.pk, verdict, note=note)
