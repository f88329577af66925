"""What is processed for which index, and where to, if the caller leaves it out."""

from collections.abc import Sequence
from pathlib import Path

from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact
from indexing.exceptions import InvalidSpec
from indexing.models import IndexBuild
from processing.folder import read_manifest


def name_folders(paths: Sequence[Path], out: Path | None) -> list[Path]:
    """The folder of each file: ``out`` of a single one, else one below it, or below the present
    folder, which is named after the file. Raises ``InvalidInput``: two would share a folder."""
    if len(paths) == 1 and out is not None:
        return [out]
    owners: dict[Path, Path] = {}
    for path in paths:
        folder = (out or Path()) / path.stem
        other = owners.setdefault(folder, path)
        if other is not path:
            raise InvalidInput(
                f"{other} and {path} would be written to the same folder, {folder}.",
                fix="Process them one at a time, each with its own --out.",
            )
    return list(owners)


def choose_index(folder: Path, *, has_questions: bool) -> str:
    """The index that the folder was made for, or else the only one that can be meant: of all, or of
    those with questions, the only one, or the only one that holds documents.

    Raises:
        UnknownIndex: there is none.
        InvalidInput: several can be meant.
        InvalidSpec: none has questions.
    """
    manifest = read_manifest(folder)
    if manifest is not None:
        return manifest.index
    live = IndexBuild.objects.live().filter(index__removal_requested_at=None)
    builds = live.order_by("index").readable()
    if not builds:
        raise UnknownIndex(
            "There is no index yet.", field="index", fix="To make one, add a YAML file to specs/."
        )
    names = [
        build.index_id for build in builds if build.spec.questions is not None or not has_questions
    ]
    if not names:
        raise InvalidSpec(
            "No index has a questions section, so process has no questions to write.",
            fix="Add 'questions: true' to the spec of an index that is still empty, or name an "
            "index with --index and stop at --parse-only or --chunk-only.",
        )
    filled = [name for name in names if Artifact.objects.filter(index=name).exists()]
    for choice in (names, filled):
        if len(choice) == 1:
            return choice[0]
    raise InvalidInput(
        "Several indexes can be meant.",
        field="index",
        allowed=names,
        fix="Name one with --index.",
    )
