from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from documents.connectors.local_files import add_file, iter_files
from indexing.management.add_command import AddDocumentsCommand


class Command(AddDocumentsCommand):
    help = "Add files, folders and .jsonl files of documents to an index."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--index", required=True)
        super().add_arguments(parser)

    def handle(self, *, paths: list[Path], index: str, wait: bool, **options: Any) -> None:
        if missing := [path for path in paths if not path.exists()]:
            raise CommandError(f"{missing[0]} does not exist.")
        given = (each for path in iter_files(paths) for each in add_file(index, path))
        self.add_documents(index, given, wait=wait)
