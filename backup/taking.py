"""Takes a backup while the service runs, or without it."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources.abc import Traversable
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import QuerySet

from backup.encryption import pack_folder, parse_recipients, staging_folder
from backup.rows import dump_rows, reading_one_state
from backup.vectors import dump_vectors
from core.api_client import ApiClient
from core.exceptions import InvalidInput
from documents.models import Artifact
from documents.storage import get_storage

FORMAT = 1
MANIFEST = "manifest.json"  # written last: without it a backup is not complete
ROWS, ORIGINALS, VECTORS = "rows", "originals", "vectors"
ENCRYPTED = "backup.zip.age"  # all of an encrypted backup


def take_backup(folder: Path, api: ApiClient, encrypt_to: Sequence[str] = ()) -> dict[str, Any]:
    """Write everything into a new folder, encrypted to these recipients if there are any, and
    return its manifest.

    Raises:
        InvalidInput: there is something in the folder, or one is no recipient.
        StrataError: the service did not give the vectors.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not an empty folder.", fix="Name a new folder.")
    if not encrypt_to:
        return write_folder(folder, api, Artifact.objects.all())
    recipients = parse_recipients(encrypt_to)
    folder.mkdir(parents=True, exist_ok=True)
    with staging_folder() as staged:
        manifest = write_folder(staged, api, Artifact.objects.all())
        pack_folder(staged, folder / ENCRYPTED, recipients)
    return manifest


def write_folder(
    folder: Path,
    api: ApiClient,
    artifacts: QuerySet[Artifact],
    tables: Iterable[QuerySet[Any]] | None = None,
    **described: Any,
) -> dict[str, Any]:
    """Write these rows of these tables, or all rows, with the originals of the artifacts and the
    vectors of the nodes; return the manifest, which has what ``described`` says, too.

    All rows are of one moment. Originals and vectors are read after it: those that were removed
    meanwhile are left out, which a restore reports.
    """
    for name in (ROWS, ORIGINALS, VECTORS):
        (folder / name).mkdir(parents=True)
    artifacts = artifacts.filter(has_file=True).only("sha256")
    # Most of them, so that the second time is short:
    _copy_originals(folder / ORIGINALS, artifacts)
    with reading_one_state():
        counts = dump_rows(folder / ROWS, tables)
        names = _copy_originals(folder / ORIGINALS, artifacts)
    for path in (folder / ORIGINALS).iterdir():
        if path.name not in names:
            path.unlink()  # of a document that was removed or changed meanwhile
    vector_count = dump_vectors(folder / ROWS, folder / VECTORS, api)
    manifest = {
        "format": FORMAT,
        **described,
        "release": settings.STRATA_RELEASE,
        "migrations": list_migrations(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "documents": counts["documents.artifact"],
        "nodes": counts["indexing.node"],
        "vectors": vector_count,
        "sha256": hash_files(list_files(folder)),
    }
    draft = folder / f"{MANIFEST}.new"
    draft.write_text(json.dumps(manifest, indent=1))
    draft.rename(folder / MANIFEST)
    return manifest


def list_migrations() -> list[str]:
    """The migrations of this database."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def list_files(folder: Path) -> dict[str, Traversable]:
    """The files below the folder by their paths in it; without the manifest."""
    paths = folder.glob("*/**/*")
    return {str(path.relative_to(folder)): path for path in paths if path.is_file()}


def list_archived(archive: zipfile.ZipFile) -> dict[str, zipfile.Path]:
    """The files in an archive by their paths in it; without the manifest."""
    names = [name for name in archive.namelist() if not name.endswith("/") and name != MANIFEST]
    return {name: zipfile.Path(archive, name) for name in names}


def hash_files(files: Mapping[str, Traversable]) -> dict[str, str]:
    """The SHA-256 of each file."""
    hashes = {}
    for name, path in files.items():
        with path.open("rb") as file:
            readable = cast(BufferedIOBase, file)  # also what is in a ZIP archive
            hashes[name] = hashlib.file_digest(readable, "sha256").hexdigest()
    return hashes


def _copy_originals(folder: Path, artifacts: QuerySet[Artifact]) -> set[str]:
    """Copy the original files that the folder lacks; return the names of all that there should be.
    Originals never change."""
    names = set()
    for artifact in artifacts.iterator():
        name = Path(artifact.original_name).name
        names.add(name)
        if not (folder / name).exists():
            # Missing if the document has just been removed.
            with suppress(FileNotFoundError), get_storage().local(artifact.original_name) as path:
                shutil.copy(path, folder / name)
    return names
