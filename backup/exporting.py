"""Exports one index, as its live build serves it, into one archive."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Model, QuerySet

from backup.encryption import pack_folder, parse_recipients, staging_folder
from backup.taking import write_folder
from core.api_client import ApiClient
from core.apps import list_exported_models, list_project_folders
from core.exceptions import InvalidInput
from core.index_paths import get_index_path
from documents.models import Artifact
from indexing.models import Index, IndexBuild, SearchSettings
from indexing.spec import IndexSpec

FORMAT = "index 1"
# The tables of the index itself. Of builds, the live one is exported.
INDEX_TABLES: list[type[Model]] = [Index, SearchSettings, IndexBuild]


def export_index(
    name: str, file: Path, api: ApiClient, encrypt_to: Sequence[str] = ()
) -> dict[str, Any]:
    """Write a new file, encrypted to these recipients if there are any, and return the manifest in
    it. The file appears when it is complete.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: the file exists, or one is no recipient.
        StrataError: the service did not give the vectors.
    """
    Index.objects.not_being_removed().exclude(live_build=None).require(name)
    if file.exists():
        raise InvalidInput(f"{file} exists already.", fix="Name a new file.")
    build = IndexBuild.objects.live().get(index=name)
    file.parent.mkdir(parents=True, exist_ok=True)
    recipients = parse_recipients(encrypt_to)
    with staging_folder() as folder:
        for path_in_archive in _list_files(build.spec):
            path = locate_file(path_in_archive, build.spec)
            if path is not None and path.is_file():
                (folder / path_in_archive).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / path_in_archive)
        manifest = write_folder(
            folder,
            api,
            Artifact.objects.filter(index=name),
            [list_rows(model, name) for model in (*INDEX_TABLES, *list_exported_models())],
            format=FORMAT,
            index=name,
        )
        pack_folder(folder, file, recipients)
    return manifest


def list_rows(model: type[Model], name: str) -> QuerySet[Any]:
    """The rows of a table that belong to an index, or to its live build."""
    path = get_index_path(model)
    if model is IndexBuild:
        path = "live_of"
    elif path == "build__index":
        path = "build__live_of"
    return model._base_manager.filter(**{path: name})


def locate_file(path_in_archive: str, spec: IndexSpec) -> Path | None:
    """Where a file that people write for an index is here; None for the rows, originals and vectors
    of an archive.

    Raises:
        InvalidInput: it is of another index, or outside of the folders.
    """
    folders = {**list_project_folders(), "prompts": settings.STRATA_PROMPTS_DIR}
    kind, _, name = path_in_archive.partition("/")
    if kind not in folders:
        return None
    parts = Path(name).parts
    is_own = parts[:1] == (spec.name,) and ".." not in parts and kind != "prompts"
    if not is_own and path_in_archive not in _list_written_files(spec):
        raise InvalidInput(
            f"The archive holds {path_in_archive}, which is no file of the index {spec.name}.",
            fix="Use another archive: this one was changed after it was written.",
        )
    return Path(folders[kind], name)


def _list_files(spec: IndexSpec) -> list[str]:
    """The paths that files of an index have in an archive."""
    own = (
        f"{name}/{path.relative_to(folder)}"
        for name, folder in list_project_folders().items()
        for path in (folder / spec.name).rglob("*")
    )
    return [*_list_written_files(spec), *own]


def _list_written_files(spec: IndexSpec) -> list[str]:
    prompts = [f"prompts/{prompt}.txt" for prompt in spec.prompt_names]
    return [f"specs/{spec.name}.yaml", *prompts]
