"""Restores a backup into an installation without documents."""

import json
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Max, QuerySet

from access.models import ApiKey
from backup.encryption import open_encrypted
from backup.rows import load_rows
from backup.taking import (
    ENCRYPTED,
    FORMAT,
    MANIFEST,
    ORIGINALS,
    ROWS,
    VECTORS,
    hash_files,
    list_archived,
    list_files,
    list_migrations,
)
from backup.vectors import load_vectors
from core.exceptions import InvalidInput
from documents.models import Artifact, PendingRevision, RevisedRow
from documents.storage import get_storage
from indexing.models import IndexBuild, UnconfirmedWrite

# What reading a file raises that is no archive or is damaged.
UNREADABLE = (
    OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Restored:
    documents: int
    nodes: int
    nodes_to_embed: int  # again: their vectors were not written
    lost_originals: int  # removed while the backup or the archive was written
    notes: Sequence[str] = ()


def restore_backup(folder: Path, identity: Path | None = None) -> Restored:
    """Load all rows, originals and vectors, and commit them together. An interrupted restore
    leaves the database as it was, and can be repeated.

    Raises:
        InvalidInput: the folder holds no complete backup of this release that the identity
            decrypts, or there is something in the database.
        StoreUnavailable: retry helps.
    """
    if Artifact.objects.exists() or ApiKey.objects.exists() or get_user_model().objects.exists():
        raise InvalidInput(
            "This installation has documents, keys or users already.",
            fix="Restore into a new one: set STRATA_DATA_DIR to a new folder, or "
            "DATABASE_URL to an empty database.",
        )
    complete = folder / (ENCRYPTED if identity else MANIFEST)
    if not complete.is_file():
        raise InvalidInput(
            f"{folder} holds no complete backup: there is no {complete.name}.",
            fix="Name a folder that strata backup has finished, with --identity if it is "
            "encrypted, and without if it is not.",
        )
    if identity is None:
        return _restore(folder, list_files(folder))
    with open_encrypted(complete, identity) as archive:
        return _restore(zipfile.Path(archive), list_archived(archive))


def _restore(folder: Path | zipfile.Path, files: Mapping[str, Traversable]) -> Restored:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        check_manifest(manifest, files, FORMAT, "backup")
    except UNREADABLE as error:
        raise InvalidInput(
            f"{folder} holds no complete backup: {describe_unreadable(error)}.",
            fix="Name a folder that strata backup has finished.",
        ) from None
    with transaction.atomic():
        load_rows(folder / ROWS)
        _continue_revisions()
        lost = restore_originals(folder / ORIGINALS, Artifact.objects.all())
        UnconfirmedWrite.objects.all().delete()
        builds = IndexBuild.objects.not_retired().readable()
        nodes_to_embed = load_vectors(folder / VECTORS, {build.pk: build for build in builds})
    return Restored(manifest["documents"], manifest["nodes"], nodes_to_embed, lost)


def _continue_revisions() -> None:
    """Let the next write have a higher revision than every restored row. Their numbers come from
    the keys of a table whose rows are deleted once searches show the write."""
    models = [model for model in apps.get_models() if issubclass(model, RevisedRow)]
    highest = max(
        model._default_manager.aggregate(highest=Max("revision"))["highest"] or 0
        for model in models
    )
    if not highest:
        return
    row, is_new = PendingRevision.objects.get_or_create(
        pk=highest, defaults={"changed_id": uuid4()}
    )
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [PendingRevision]):
            cursor.execute(statement)
    if is_new:
        row.delete()


def check_manifest(
    manifest: Mapping[str, Any], files: Mapping[str, Traversable], form: int | str, what: str
) -> None:
    """Check that a manifest fits this release and the files beside it.

    Raises:
        InvalidInput: it has another form or tables, or these are not the files that were written.
    """
    is_archive = "index" in manifest
    if is_archive != (what == "archive"):
        found, command = ("an archive", "import") if is_archive else ("a backup", "restore")
        raise InvalidInput(f"This is {found} and no {what}.", fix=f"Load it with strata {command}.")
    if manifest["format"] != form or manifest["migrations"] != list_migrations():
        raise InvalidInput(
            f"The {what} was written by release {manifest['release']}, whose database has other "
            "tables.",
            fix="Load it with that release into a new installation, then start this release on the "
            "data of that installation.",
        )
    changed = manifest["sha256"].items() ^ hash_files(files).items()
    if changed:
        name = min(name for name, _ in changed)
        raise InvalidInput(
            f"The {what} is damaged: its file {name} is missing, new or changed.",
            fix=f"Use another {what}.",
        )


def describe_unreadable(error: Exception) -> str:
    """What reading a file has raised, as the second half of a sentence."""
    if isinstance(error, KeyError):
        missing = str(error.args[0])  # a key, or what zipfile says of a file
        return missing if " " in missing else f"it lacks {missing!r}"
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).partition("\n")[0].rstrip(".")


def check_hashes(artifacts: QuerySet[Artifact]) -> None:
    """Check the rows of documents before paths are made of their hashes.

    Raises:
        InvalidInput: a row has no hash where its file's name is made of one.
    """
    for artifact in artifacts.filter(has_file=True).only("sha256"):
        if not SHA256.fullmatch(artifact.sha256):
            raise InvalidInput(
                f"The row of the document {artifact.pk} holds no SHA-256 of its file.",
                fix="Use another file or folder: this one was changed after it was written.",
            )


def restore_originals(folder: Traversable, artifacts: QuerySet[Artifact]) -> int:
    """Write the originals of these artifacts; return how many the folder lacks. Raises as
    ``check_hashes``, before the first is written."""
    check_hashes(artifacts)
    lost = 0
    incoming = Path(settings.STRATA_FILES_DIR)
    incoming.mkdir(parents=True, exist_ok=True)
    for artifact in artifacts.filter(has_file=True).only("sha256"):
        original = folder / Path(artifact.original_name).name
        if not original.is_file():
            lost += 1
            continue
        # First to a file of its own: the storage may link it.
        with original.open("rb") as source, NamedTemporaryFile(dir=incoming) as target:
            shutil.copyfileobj(source, target)
            target.flush()
            get_storage().add(artifact.original_name, Path(target.name))
    return lost
