"""Imports the archive of one index into an installation that has no documents in an index of that
name."""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config.backup.encryption import open_encrypted
from config.backup.exporting import ADDED_TABLES, FORMAT, list_rows, locate_file
from config.backup.restoring import Restored, check_manifest, restore_originals
from config.backup.rows import add_rows, read_rows
from config.backup.taking import MANIFEST, ORIGINALS, ROWS, VECTORS, list_archived
from config.backup.vectors import load_vectors
from core.atomic_files import write_file
from core.exceptions import InvalidInput, StrataError
from documents.models import Artifact
from indexing.embedding import describe_model_availability
from indexing.exceptions import InvalidSpec
from indexing.lifecycle import promote_build
from indexing.models import Index, IndexBuild, SearchSettings
from indexing.spec.loaded import find_shared_collection

# What reading a file raises that is no archive or is damaged.
UNREADABLE = (
    OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip


def import_index(file: Path, identity: Path | None = None) -> Restored:
    """Add the index of the archive. Until everything is there, its build is paused and has no rows;
    the next import retires it and starts over.

    Raises:
        InvalidInput: the file holds no complete archive that this release can read and the
            identity decrypts, or its index has documents here.
        InvalidSpec: the index would share a collection with another one.
        StoreUnavailable: retry helps.
    """
    with ExitStack() as stack:
        manifest, archive = _open_archive(file, identity, stack)
        root = zipfile.Path(archive)
        rows = root / ROWS
        with transaction.atomic():
            build, dumped_id = _begin_build(manifest["index"], rows)
            notes = [*_add_files(archive), *_find_model_problems(build)]
        with transaction.atomic():
            for label in ADDED_TABLES:
                # Revisions are numbers of the installation: from here on, each write gets one.
                values = {"build_id": build.pk, "revision": 0}
                add_rows(apps.get_model(label), rows, values)
            artifacts = Artifact.objects.filter(index=build.index_id)
            lost = restore_originals(root / ORIGINALS, artifacts)
            nodes_to_embed = load_vectors(root / VECTORS, {dumped_id: build})
            promote_build(build, is_forced=True)
            build.index.builds.not_retired().exclude(pk=build.pk).retire()
    return Restored(manifest["documents"], manifest["nodes"], nodes_to_embed, lost, notes)


def _open_archive(
    file: Path, identity: Path | None, stack: ExitStack
) -> tuple[dict[str, Any], zipfile.ZipFile]:
    """The manifest, and the archive, in which everything is as it was written, until ``stack``
    closes."""
    try:
        opened = open_encrypted(file, identity) if identity else zipfile.ZipFile(file)
        archive = stack.enter_context(opened)
        manifest = json.loads(archive.read(MANIFEST))
        if _parse_release(manifest["release"]) > _parse_release(settings.STRATA_RELEASE):
            raise InvalidInput(
                f"The archive was written by a newer release, {manifest['release']}.",
                fix="Import it with that release.",
            )
        check_manifest(manifest, list_archived(archive), FORMAT, "archive")
    except UNREADABLE as error:
        raise InvalidInput(
            f"{file} is not a complete archive of an index: {error}.",
            fix="Name a file that strata export has finished, with --identity if it is encrypted.",
        ) from None
    return manifest, archive


def _parse_release(release: str) -> list[int]:
    return [int(number) for number in release.split(".")]


def _begin_build(name: str, rows: zipfile.Path) -> tuple[IndexBuild, int]:
    """Make the build, paused, so that no worker and no audit changes it; also return the id that it
    was exported with."""
    index, _ = Index.objects.select_for_update().get_or_create(name=name)
    tables = ("documents.artifact", "concepts.concept", "concepts.relationshiptype")
    if index.removal_requested_at or any(list_rows(label, name).exists() for label in tables):
        raise InvalidInput(
            f"The index {name} has documents or concepts here, or is being removed.",
            fix="Import into another installation, or remove the index first.",
        )
    [exported] = read_rows(rows, "indexing.index")
    [exported_build] = read_rows(rows, "indexing.indexbuild")
    for exported_settings in read_rows(rows, "indexing.searchsettings"):
        if exported_settings["id"] == exported["search_settings_id"]:
            number = index.search_settings.number if index.search_settings else 0
            index.search_settings = SearchSettings.objects.create(
                index=index, number=number + 1, content=exported_settings["content"]
            )
    index.store_settings, index.is_public = exported["store_settings"], exported["is_public"]
    index.save()
    index.builds.not_retired().exclude(state=IndexBuild.State.LIVE).retire()
    build = IndexBuild.objects.create(
        index=index,
        number=index.next_build_number(),
        paused_at=timezone.now(),
        pause_reason="It is being imported, or its import was interrupted: import it again.",
        **{
            field: exported_build[field]
            for field in ("recipe", "fingerprint", "placement", "reading")
        },
    )
    if problem := find_shared_collection(build.spec):
        raise InvalidSpec(problem)
    return build, exported_build["id"]


def _add_files(archive: zipfile.ZipFile) -> list[str]:
    """Write the spec, the prompts and the golden queries that are not here; note which others
    differ. Another spec would change how the index is searched."""
    missing: dict[Path, zipfile.Path] = {}
    notes = []
    for name, source in list_archived(archive).items():
        path = locate_file(name)
        if path is None:
            continue
        if not path.exists():
            missing[path] = source
        elif path.read_bytes() != source.read_bytes():
            if name.startswith("specs/"):
                raise InvalidInput(
                    f"{path} is another spec than that of the archive.",
                    fix="Move it away, then import again.",
                )
            notes.append(f"{path} differs from the archive's and stays as it is.")
    for path, source in missing.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, source.read_bytes())
        except OSError as error:
            raise InvalidInput(
                f"{path} cannot be written: {error.strerror}.",
                fix="Put this file of the archive there, then import again.",
            ) from None
    return notes


def _find_model_problems(build: IndexBuild) -> Iterator[str]:
    for model in build.spec.embedding_specs:
        try:
            describe_model_availability(model)
        except StrataError as error:
            yield f"Searches by meaning and new documents need the model {model.model}: {error}"
