import sys
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from concepts.importing import import_statement, read_statements
from core.running_server import find_server
from indexing.management.base_command import StrataCommand
from indexing.models import Index

PLURALS = {
    "concept": "concepts",
    "instance": "quotes",
    "relationship_type": "relationship types",
    "relationship": "relationships",
}


class Command(StrataCommand):
    help = (
        "Import concepts, relationship types and relationships into an index from JSON Lines or "
        "GraphML. Importing a file again adds only what is missing. The running server embeds "
        "them at once; if none runs, the next one does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="A .jsonl or a .graphml file.")
        parser.add_argument("--index", required=True)

    def handle(self, *, path: Path, index: str, **options: Any) -> None:
        names = list(Index.objects.not_being_removed().values_list("name", flat=True))
        if index not in names:
            raise CommandError(f"There is no index named {index!r}; allowed: {', '.join(names)}.")
        added: Counter[str] = Counter()
        unchanged: Counter[str] = Counter()
        refused_count = 0
        try:
            for statement in read_statements(path):
                for imported in import_statement(index, statement):
                    if imported.error is not None:
                        refused_count += 1
                        error = imported.error
                        message = f"{imported.location}: {error.with_fix()}"
                        self.stderr.write(f"{message} [{error.code}]")
                    else:
                        (added if imported.is_new else unchanged)[imported.kind] += 1
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        server = find_server()
        if server is not None:
            server.reconcile()
        for kind, plural in PLURALS.items():
            if added[kind] or unchanged[kind]:
                self.stdout.write(f"{plural}: {added[kind]} added, {unchanged[kind]} already there")
        if refused_count:
            self.stdout.write(f"{refused_count} refused")
            sys.exit(1)
