import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from concepts.importing import import_file
from core.api_client import ApiCommand
from core.commands import format_error
from indexing.management.waiting import wait_for_standalone_rows
from indexing.models import Index

PLURALS = {
    "concept": "concepts",
    "quote": "quotes",
    "relationship_type": "relationship types",
    "relationship": "relationships",
}


class Command(ApiCommand):
    help = (
        "Import concepts, relationship types and relationships into an index from JSON Lines or "
        "GraphML. Importing a file again adds only what is missing. The running server embeds "
        "them at once; if none runs, the next one does."
    )
    changes_data = True  # a request for each of the many rows would take too long
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="A .jsonl or a .graphml file.")
        parser.add_argument("--index", required=True)
        parser.add_argument(
            "--wait",
            action="store_true",
            help="Wait until every concept and relationship type of the index can be searched or "
            "has failed; the exit status is 1 if any failed. Without a server, the command does "
            "the work.",
        )

    def handle(self, *, path: Path, index: str, wait: bool, **options: Any) -> None:
        Index.objects.not_being_removed().require(index)
        failed_count = 0
        with self.api.working() if wait else nullcontext():
            refused_count = self._import(path, index)
            self.api.wake_workers()
            if wait:
                failed_count = wait_for_standalone_rows(index)
        if refused_count:
            self.stdout.write(f"{refused_count} refused")
        if failed_count:
            self.stdout.write(f"{failed_count} failed")
        if refused_count or failed_count:
            sys.exit(1)

    def _import(self, path: Path, index: str) -> int:
        """Import the statements, and print how many were added; return how many were refused."""
        added: Counter[str] = Counter()
        unchanged: Counter[str] = Counter()
        refused_count = 0
        try:
            for imported in import_file(index, path):
                if (error := imported.error) is not None:
                    refused_count += 1
                    self.stderr.write(f"{imported.location}: {format_error(error)}")
                else:
                    (added if imported.is_new else unchanged)[imported.kind] += 1
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        for kind, plural in PLURALS.items():
            if added[kind] or unchanged[kind]:
                self.stdout.write(f"{plural}: {added[kind]} added, {unchanged[kind]} already there")
        return refused_count
