"""Restores a backup into an installation without documents."""

import json
import re
import shutil
import zipfile
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
from config.backup.encryption import open_encrypted
from config.backup.rows import load_rows
from config.backup.taking import (
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
from config.backup.vectors import load_vectors
from core.exceptions import InvalidInput
from documents.models import Artifact, PendingRevision, RevisedRow
from documents.storage import get_storage
from indexing.models import IndexBuild, UnconfirmedWrite

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
            "There are documents, keys or users already.",
            fix="Restore into a new installation: set STRATA_DATA_DIR to a new folder, or "
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
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    check_manifest(manifest, files, FORMAT, "backup")
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
    """
    Raises:
        InvalidInput: it has another form or tables, or these are not the files that were written.
    """
    if manifest["format"] != form or manifest["migrations"] != list_migrations():
        raise InvalidInput(
            f"The {what} was taken by release {manifest['release']}, whose database differs.",
            fix="Load it with that release, then start this one on the data.",
        )
    changed = manifest["sha256"].items() ^ hash_files(files).items()
    if changed:
        name = min(name for name, _ in changed)
        raise InvalidInput(
            f"The {what} is damaged: {name} is not the file that was written.",
            fix=f"Use another {what}.",
        )


def check_hashes(artifacts: QuerySet[Artifact]) -> None:
    """
    Raises:
        InvalidInput: a row has no hash where its file's name is made of one.
    """
    for artifact in artifacts.filter(has_file=True).only("sha256"):
        if not SHA256.fullmatch(artifact.sha256):
            raise InvalidInput(
                f"The hash of the file of {artifact.pk} is not one.",
                fix="Do not load this: it was changed after it was written.",
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
