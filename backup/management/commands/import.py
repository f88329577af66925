from pathlib import Path

from backup.importing import import_index
from backup.management.commands import restore
from backup.restoring import Restored


class Command(restore.Command):
    help = "Load an exported index into an installation without documents in it. Embeds nothing."
    metavar, written_by = "file", "export"

    def load(self, path: Path, identity: Path | None) -> Restored:
        return import_index(path, identity)
