from typing import Any

from django.core.management.base import CommandParser

from config.release import require_same_indexing
from core.commands import LocalCommand


class Command(LocalCommand):
    help = (
        "Compare a sample of each index with what this release would make of it, if another one "
        "served the data before. Exits with 1 if they differ. serve does this at its start."
    )
    changes_data = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--force", action="store_true", help="Accept the differences.")

    def handle(self, *, force: bool, **options: Any) -> None:
        for note in require_same_indexing(is_forced=force):
            self.stderr.write(self.style.WARNING(note))
