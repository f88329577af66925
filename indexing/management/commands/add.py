import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from core.exceptions import InvalidInput, StrataError
from core.http_formats import load_json
from documents.connectors.local_files import (
    AddResult,
    add_file,
    has_document_lines,
    iter_files,
    make_external_id,
    make_place,
)
from documents.exceptions import DocumentExists
from documents.identity import IfExists
from documents.serializers import ArtifactUpdateSerializer
from documents.services import set_places
from indexing.management.add_command import AddDocumentsCommand

OF_ONE_DOCUMENT = ("title", "url")


class Command(AddDocumentsCommand):
    help = "Add files, folders and .jsonl files of documents to an index."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--index", required=True)
        parser.add_argument(
            "--external-id",
            choices=["place", "path", "folder", "none"],
            default="place",
            help="What identifies a file, so that the edited file is a new revision when it is "
            "added again: its place, which is its whole path (the default); its path below the "
            "given folder, wherever that lies, so that another folder's file of the same path is "
            "replaced; the same after the folder's own name; or only its content. Lines of a "
            ".jsonl file name their own.",
        )
        parser.add_argument(
            "--if-exists",
            choices=[IfExists.REPLACE, IfExists.KEEP],
            help="What to do if another document has the external id of a file, and other "
            "content: replace it, or keep both. Without it, both are kept, unless an earlier "
            "release added the document: then the file is rejected.",
        )
        parser.add_argument("--title", help="The title; for one file.")
        parser.add_argument("--url", help="Where the document comes from; for one file.")
        parser.add_argument(
            "--metadata", metavar="JSON", help="An object of fields that every document gets."
        )
        parser.add_argument(
            "--group",
            action="append",
            metavar="NAME",
            help="A group that may see these documents; repeat it for several. Without it, new "
            "documents are visible to all who may read the index; known ones keep their groups.",
        )
        super().add_arguments(parser)

    def handle(
        self,
        *,
        paths: list[Path],
        index: str,
        wait: bool,
        external_id: str,
        if_exists: str | None,
        group: list[str] | None,
        **options: Any,
    ) -> None:
        if missing := [path for path in paths if not path.exists()]:
            raise CommandError(f"{missing[0]} does not exist.")
        if if_exists and external_id != "place":
            raise CommandError(f"--if-exists cannot be given with --external-id {external_id}.")
        given = {name: options[name] for name in (*OF_ONE_DOCUMENT, "metadata")}
        attributes = {**_read_attributes(paths, given), "groups": group}
        if if_exists:
            attributes["if_exists"] = IfExists(if_exists)
        self.add_documents(index, _add_files(index, paths, external_id, attributes), wait=wait)


def _read_attributes(paths: list[Path], given: dict[str, str | None]) -> dict[str, Any]:
    attributes: dict[str, Any] = {name: text for name, text in given.items() if text is not None}
    for name in OF_ONE_DOCUMENT:
        if name in attributes and not _is_one_document(paths):
            raise CommandError(
                f"--{name} is for one file: give one path, neither a folder nor a .jsonl file of "
                "documents."
            )
    name = "metadata"
    try:
        if name in attributes:
            attributes[name] = load_json(attributes[name])
        return ArtifactUpdateSerializer.read(attributes)
    except StrataError as error:
        raise CommandError(f"--{error.field or name}: {error}") from None


def _is_one_document(paths: list[Path]) -> bool:
    try:
        return len(paths) == 1 and paths[0].is_file() and not has_document_lines(paths[0])
    except OSError as error:
        raise CommandError(f"{paths[0]} cannot be read: {error.strerror}.") from None


def _add_files(
    index: str, paths: list[Path], external_id: str, attributes: dict[str, Any]
) -> Iterator[AddResult]:
    """Add every file below the paths; refuse one that is identified as another one of them is."""
    added: dict[str, str] = {}  # external id or place -> path
    assumed: dict[UUID, str] = {}
    is_certain = True
    for given in paths:
        for path in iter_files([given]):
            if external_id == "none":
                yield from add_file(index, path, **attributes)
                continue
            place, name = replace(make_place(path, given), assumed=assumed), None
            if external_id != "place":
                name = make_external_id(path, given, with_folder=external_id == "folder")
                place = replace(place, names=())
            other = added.setdefault(name or place.path, os.path.realpath(path))
            if other != os.path.realpath(path):
                yield AddResult(str(path), error=_make_repeated_error(other, name or place.path))
                continue
            for result in add_file(index, path, external_id=name, place=place, **attributes):
                if result.is_assumed and result.artifact_id is not None:
                    assumed[result.artifact_id] = place.path
                is_certain &= not isinstance(result.error, DocumentExists)
                yield result
    if is_certain:  # no file has another content than the document of its name
        set_places(assumed)


def _make_repeated_error(other: str, name: str) -> InvalidInput:
    return InvalidInput(
        f"{other} is identified by the same name, {name!r}.",
        field="external_id",
        fix="Leave --external-id out, or rename one of the two.",
    )
