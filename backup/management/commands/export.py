import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from backup.encryption import ENCRYPT_TO
from backup.exporting import export_index
from core.api_client import ApiCommand


class Command(ApiCommand):
    help = (
        "Write one index with its documents, spec, vectors, judgements and golden queries into one "
        "file, while the service runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument("file", type=Path, help="A new file, a ZIP archive.")
        parser.add_argument("--encrypt-to", **ENCRYPT_TO)

    def handle(self, *, index: str, file: Path, encrypt_to: list[str], **options: Any) -> None:
        os.umask(0o077)  # only its owner may read the archive
        manifest = export_index(index, file, self.api, encrypt_to)
        self.stdout.write(
            f"{manifest['documents']} documents, {manifest['nodes']} nodes and "
            f"{manifest['vectors']} vectors of {index} are in {file}."
        )
