"""Restores a backup into an installation without documents."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from access.models import ApiKey
from config.backup.rows import load_rows
from config.backup.taking import (
    FORMAT,
    MANIFEST,
    ORIGINALS,
    ROWS,
    VECTORS,
    hash_files,
    list_migrations,
)
from config.backup.vectors import load_vectors
from core.exceptions import InvalidInput
from documents.models import Artifact


@dataclass(frozen=True, slots=True)
class Restored:
    documents: int
    nodes: int
    nodes_to_embed: int  # again: the backup lacks their vectors
    lost_originals: int  # removed while the backup was taken


def restore_backup(folder: Path) -> Restored:
    """Load all rows, originals and vectors, and commit them together. An interrupted restore
    leaves the database as it was, and can be repeated.

    Raises:
        InvalidInput: the folder holds no complete backup of this release, or there is something in
            the database.
        StoreUnavailable: retry helps.
    """
    manifest = _read_manifest(folder)
    if Artifact.objects.exists() or ApiKey.objects.exists() or get_user_model().objects.exists():
        raise InvalidInput(
            "There are documents, keys or users already.",
            fix="Restore into a new installation: set STRATA_DATA_DIR to a new folder, or "
            "DATABASE_URL to an empty database.",
        )
    _require_undamaged(folder, manifest)
    with transaction.atomic():
        load_rows(folder / ROWS)
        lost = sum(
            not _restore_original(folder / ORIGINALS, artifact)
            for artifact in Artifact.objects.filter(has_file=True).only("sha256")
        )
        nodes_to_embed = load_vectors(folder / VECTORS)
    return Restored(manifest["documents"], manifest["nodes"], nodes_to_embed, lost)


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(
            f"{folder} holds no complete backup: there is no {MANIFEST}.",
            fix="Name a folder that strata backup has finished.",
        ) from None
    if manifest["format"] != FORMAT or manifest["migrations"] != list_migrations():
        raise InvalidInput(
            f"The backup was taken by release {manifest['release']}, whose database differs.",
            fix="Restore it with that release, then start this one on the data.",
        )
    return manifest


def _require_undamaged(folder: Path, manifest: dict[str, Any]) -> None:
    changed = manifest["sha256"].items() ^ hash_files(folder).items()
    if changed:
        name = min(name for name, _ in changed)
        raise InvalidInput(
            f"The backup is damaged: {name} is not the file that was written.",
            fix="Restore another backup.",
        )


def _restore_original(folder: Path, artifact: Artifact) -> bool:
    """Whether the backup has it."""
    path = artifact.file_path
    if not (folder / path.name).exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / path.name, path)
    return True
