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
        group: list[str] | None,
        **options: Any,
    ) -> None:
        if missing := [path for path in paths if not path.exists()]:
            raise CommandError(f"{missing[0]} does not exist.")
        results = (
            each for path in iter_files(paths) for each in add_file(index, path, groups=group)
        )
        self.add_documents(index, results, wait=wait)
