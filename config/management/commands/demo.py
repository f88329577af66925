from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from core.commands import StrataCommand, has_embedded_store
from core.running_server import find_server
from documents.connectors.local_files import add_file, iter_files
from documents.services import TextContent, add_artifact
from indexing.models import Index

LIBRARY = Path(settings.BASE_DIR) / "demo" / "library"


class Command(StrataCommand):
    help = (
        "Add the demo documents: the language reference of this Python version, and a small "
        "library of files in many formats. Adding them again changes nothing."
    )

    def handle(self, **options: Any) -> None:
        missing = {"python-reference", "library"} - set(
            Index.objects.values_list("name", flat=True)
        )
        if missing:
            raise CommandError(f"specs/{missing.pop()}.yaml is missing; the demo needs it.")
        for path in iter_files([LIBRARY]):
            for _ in add_file("library", path):
                pass
        for name, text in topics.items():
            add_artifact(
                "python-reference",
                TextContent((text.strip(),)),
                title=f"Python: {name}",
                external_id=name,
            )
        if server := find_server():
            server.reconcile()
        elif has_embedded_store() and options["verbosity"]:
            self.stdout.write("Added. strata serve indexes the documents.")
