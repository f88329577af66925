from pathlib import Path

from django.core.management.base import CommandParser

from config.backup.importing import import_index
from config.backup.restoring import Restored
from config.management.commands import restore


class Command(restore.Command):
    help = "Load an exported index into an installation without documents in it. Embeds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path", metavar="file", type=Path, help="What strata export has written."
        )

    def load(self, path: Path) -> Restored:
        return import_index(path)
