import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from backup.encryption import ENCRYPT_TO
from backup.taking import take_backup
from core.api_client import ApiCommand


class Command(ApiCommand):
    help = (
        "Copy all documents, rows, originals and vectors into a new folder, while the service runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="A new folder.")
        parser.add_argument("--encrypt-to", **ENCRYPT_TO)

    def handle(self, *, folder: Path, encrypt_to: list[str], **options: Any) -> None:
        os.umask(0o077)  # only its owner may read the backup
        manifest = take_backup(folder, self.api, encrypt_to)
        self.stdout.write(
            f"{manifest['documents']} documents, {manifest['nodes']} nodes and "
            f"{manifest['vectors']} vectors are in {folder}."
        )
