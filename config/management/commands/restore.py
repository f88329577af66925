import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from config.backup.restoring import restore_backup
from indexing.management.base_command import StrataCommand
from indexing.stores import exclusive_store_access, has_embedded_store


class Command(StrataCommand):
    help = "Load a backup into an installation without documents, keys and users. Embeds nothing."
    loads_specs = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="What strata backup has written.")

    def handle(self, *, folder: Path, **options: Any) -> None:
        os.umask(0o077)
        with exclusive_store_access() if has_embedded_store() else nullcontext():
            restored = restore_backup(folder)
        self.stdout.write(f"{restored.documents} documents and {restored.nodes} nodes are back.")
        if restored.nodes_to_embed:
            self.stdout.write(
                f"{restored.nodes_to_embed} nodes changed while the backup was taken, and are "
                "embedded again."
            )
        if restored.lost_originals:
            self.stdout.write(
                f"{restored.lost_originals} original files were removed while the backup was "
                "taken. The texts of their documents are here."
            )
