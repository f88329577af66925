import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from backup.restoring import Restored, restore_backup
from core.commands import LocalCommand, has_embedded_store
from indexing.stores import exclusive_store_access


class Command(LocalCommand):
    help = "Load a backup into an installation without documents, keys and users. Embeds nothing."
    changes_data = True
    loads_specs = False
    metavar, written_by = "folder", "backup"

    def add_arguments(self, parser: CommandParser) -> None:
        written = f"What strata {self.written_by} has written."
        parser.add_argument("path", metavar=self.metavar, type=Path, help=written)
        parser.add_argument(
            "--identity",
            type=Path,
            help="A file of age-keygen, with the secret key that decrypts it, if it is encrypted.",
        )

    def load(self, path: Path, identity: Path | None) -> Restored:
        return restore_backup(path, identity)

    def handle(self, *, path: Path, identity: Path | None, **options: Any) -> None:
        os.umask(0o077)
        with exclusive_store_access() if has_embedded_store() else nullcontext():
            restored = self.load(path, identity)
        self.stdout.write(f"{restored.documents} documents and {restored.nodes} nodes are here.")
        if restored.nodes_to_embed:
            self.stdout.write(
                f"{restored.nodes_to_embed} nodes changed while they were written, and are "
                "embedded again."
            )
        if restored.lost_originals:
            self.stdout.write(
                f"{restored.lost_originals} original files were removed while they were "
                "written. The texts of their documents are here."
            )
        for note in restored.notes:
            self.stdout.write(note)
