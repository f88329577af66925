"""Imports the archive of one index into an installation that has no documents in an index of that
name."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from backup.encryption import open_encrypted
from backup.exporting import FORMAT, list_rows, locate_file
from backup.restoring import (
    UNREADABLE,
    Restored,
    check_hashes,
    check_manifest,
    describe_unreadable,
    restore_originals,
)
from backup.rows import add_rows, read_rows
from backup.taking import MANIFEST, ORIGINALS, ROWS, VECTORS, list_archived
from backup.vectors import check_vectors, load_vectors
from core.apps import list_exported_models
from core.atomic_files import write_file
from core.exceptions import InvalidInput, StrataError
from core.index_paths import get_index_path
from documents.models import Artifact
from indexing.embedding import describe_model_availability
from indexing.exceptions import InvalidSpec
from indexing.lifecycle import promote_build
from indexing.models import Index, IndexBuild, SearchSettings
from indexing.spec import NAME_PATTERN, IndexSpec, parse_spec
from indexing.spec.loaded import find_shared_collection

# What storing rows raises that are not those of an index.
UNUSABLE = (*UNREADABLE, AttributeError, OverflowError, ValidationError, DataError, IntegrityError)


def import_index(file: Path, identity: Path | None = None) -> Restored:
    """Add the index of the archive. Until everything is there, its build is paused and has no rows;
    after an interruption, the next import retires it and starts over. A refusal leaves nothing.

    Raises:
        InvalidInput: the file holds no complete archive that this release can read and the
            identity decrypts, it holds something of another index, or its index has documents
            here.
        InvalidSpec: the index would share a collection with another one.
        StoreUnavailable: retry helps.
    """
    with ExitStack() as stack:
        manifest, archive = _open_archive(file, identity, stack)
        root = zipfile.Path(archive)
        rows = root / ROWS
        with _refusing_unusable(file), transaction.atomic():
            was_here = Index.objects.filter(pk=manifest["index"]).exists()
            build, dumped_id = _begin_build(manifest["index"], rows)
            files, notes = _find_files(archive, build.spec)
            notes += _find_model_problems(build)
        artifacts = Artifact.objects.filter(index=build.index_id)
        is_refused = True
        try:
            with transaction.atomic():
                with _refusing_unusable(file):
                    _apply_settings(build)
                    counts = _add_rows(build, rows)
                    check_hashes(artifacts)
                    check_vectors(root / VECTORS, dumped_id, build)
                _write_files(files)
                is_refused = False  # from here on, the next import goes on
                lost = restore_originals(root / ORIGINALS, artifacts)
                nodes_to_embed = load_vectors(root / VECTORS, {dumped_id: build})
                promote_build(build, is_forced=True)
                build.index.builds.not_retired().exclude(pk=build.pk).retire()
        except InvalidInput:
            if is_refused:
                (build if was_here or artifacts.exists() else build.index).delete()
            raise
    documents, nodes = counts["documents.artifact"], counts["indexing.node"]
    return Restored(documents, nodes, nodes_to_embed, lost, notes)


@contextmanager
def _refusing_unusable(file: Path) -> Iterator[None]:
    try:
        yield
    except UNUSABLE as error:
        raise InvalidInput(
            f"{file} does not hold an index that can be stored here: {describe_unreadable(error)}.",
            fix="Import a file of strata export that was not changed since, into an installation "
            "that does not have its documents.",
        ) from None


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
            f"{file} is not a complete archive of an index: {describe_unreadable(error)}.",
            fix="Name a file that strata export has finished, with --identity if it is encrypted.",
        ) from None
    return manifest, archive


def _parse_release(release: str) -> list[int]:
    return [int(number) for number in release.split(".")]


def _begin_build(name: str, rows: zipfile.Path) -> tuple[IndexBuild, int]:
    """Make the build, paused, so that no worker and no audit changes it; also return the id that it
    was exported with. The settings of its index are not saved."""
    if NAME_PATTERN.fullmatch(name) is None:
        raise ValueError(f"{name!r} cannot be the name of an index")
    index, _ = Index.objects.select_for_update().get_or_create(name=name)
    own = [model for model in list_exported_models() if get_index_path(model) == "index"]
    if index.removal_requested_at or any(list_rows(model, name).exists() for model in own):
        raise InvalidInput(
            f"The index {name} is not empty here, or is being removed.",
            fix="Import into another installation, or remove the index first.",
        )
    [exported] = read_rows(rows, "indexing.index")
    [exported_build] = read_rows(rows, "indexing.indexbuild")
    for exported_settings in read_rows(rows, "indexing.searchsettings"):
        if exported_settings["id"] == exported["search_settings_id"]:
            number = index.search_settings.number if index.search_settings else 0
            index.search_settings = SearchSettings(
                index=index, number=number + 1, content=exported_settings["content"]
            )
    index.store_settings = exported["store_settings"]
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
    if {exported["name"], exported_build["index_id"], build.spec.name} != {name}:
        raise ValueError(f"its rows are not those of the index {name}")
    if problem := find_shared_collection(build.spec):
        raise InvalidSpec(problem)
    return build, exported_build["id"]


def _apply_settings(build: IndexBuild) -> None:
    """Save the settings of its index. Whether searches need a key is what its spec says."""
    index = Index.objects.select_for_update().get(pk=build.index_id)
    if build.index.search_settings is not None:
        build.index.search_settings.save()
    index.search_settings = build.index.search_settings
    index.store_settings = build.index.store_settings
    index.save()
    index.builds.not_retired().exclude(state=IndexBuild.State.LIVE).exclude(pk=build.pk).retire()
    build.index = index


def _add_rows(build: IndexBuild, rows: zipfile.Path) -> dict[str, int]:
    """Add the rows of all tables; return how many by table.

    Raises:
        InvalidInput: a row is of another index, or refers to a row of another one.
        IntegrityError: a row is here already, or refers to one that does not exist.
    """
    # Revisions are numbers of the installation: from here on, each write gets one.
    values = {"build_id": build.pk, "revision": 0}
    models = list_exported_models()
    counts = {model: add_rows(model, rows, values) for model in models}
    for model, count in counts.items():
        own = _select_rows(model, build)
        if own.count() != count or any(map(QuerySet.exists, _select_referring(own, build))):
            raise InvalidInput(
                f"The archive holds rows of {model._meta.label_lower} that are not of the index "
                f"{build.index_id}.",
                fix="Use another archive: this one was changed after it was written.",
            )
    connection.check_constraints([model._meta.db_table for model in models])
    return {model._meta.label_lower: count for model, count in counts.items()}


def _select_rows(model: type[Model], build: IndexBuild) -> QuerySet[Any]:
    return model._base_manager.filter(**_own(model, build))


def _own(model: type[Model], build: IndexBuild, path: str = "") -> dict[str, Any]:
    """The condition that a row is of the index. ``path`` leads to the row. The build is not live
    yet."""
    lookup = get_index_path(model)
    if lookup == "build__index":
        return {f"{path}build": build}
    return {f"{path}{lookup}": build.index_id}


def _select_referring(rows: QuerySet[Any], build: IndexBuild) -> Iterator[QuerySet[Any]]:
    """Of these rows those that refer to another index, for each reference."""
    exported = list_exported_models()
    for field in rows.model._meta.concrete_fields:
        if field.related_model in exported:
            [(lookup, value)] = _own(field.related_model, build, f"{field.name}__").items()
            # Nodes may refer to what was deleted.
            yield rows.exclude(**{lookup: value}).filter(**{f"{lookup}__isnull": False})


def _find_files(archive: zipfile.ZipFile, spec: IndexSpec) -> tuple[dict[Path, bytes], list[str]]:
    """The spec and the other files of people that are not here, and notes about those that differ.
    Another spec would change how the index is searched."""
    missing: dict[Path, bytes] = {}
    notes: list[str] = []
    for name, source in list_archived(archive).items():
        path = locate_file(name, spec)
        if path is None:
            continue
        content = source.read_bytes()
        if name.startswith("specs/"):
            notes += _describe_effects(spec.name, content)
        if not path.exists():
            missing[path] = content
        elif path.read_bytes() != content:
            if name.startswith("specs/"):
                raise InvalidInput(
                    f"{path} differs from the spec in the archive.",
                    fix="Move it to another folder, then import again.",
                )
            notes.append(f"{path} differs from the file in the archive, and stays as it is.")
    return missing, notes


def _describe_effects(name: str, content: bytes) -> Iterator[str]:
    """What a spec of other people allows that its documents alone do not."""
    try:
        spec = parse_spec(name, content.decode())
    except InvalidSpec:
        return  # it changes nothing until somebody mends it
    if spec.public:
        yield f"Searches of {name} need no key, because its spec is public."
    for section in spec.app_sections:
        if section.only_in_file:
            yield (
                f"The spec of {name} names what is read on this machine or by its network: "
                f"{section.model_dump_json()}."
            )


def _write_files(missing: Mapping[Path, bytes]) -> None:
    """Write all of them, or none."""
    with ExitStack() as written:
        for path, content in missing.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, content)
            except OSError as error:
                raise InvalidInput(
                    f"{path} cannot be written: {error.strerror}.",
                    fix="Let this user write there, or unpack this file of the archive to that "
                    "place; then import again.",
                ) from None
            written.callback(path.unlink)
        written.pop_all()


def _find_model_problems(build: IndexBuild) -> Iterator[str]:
    for model in build.spec.embedding_specs:
        try:
            describe_model_availability(model)
        except StrataError as error:
            yield f"Searches by meaning and new documents need the model {model.model}: {error}"
