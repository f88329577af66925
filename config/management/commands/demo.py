import json
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from core.api_client import ApiCommand
from core.commands import has_embedded_store
from documents.connectors.local_files import iter_files
from documents.serializers import NDJSON

LIBRARY = Path(settings.BASE_DIR) / "demo" / "library"


class Command(ApiCommand):
    help = (
        "Add the demo documents: the language reference of this Python version, and a small "
        "library of files in many formats. Adding them again changes nothing."
    )
    prepares_database = True

    def handle(self, **options: Any) -> None:
        if missing := {"python-reference", "library"} - set(self.api.list_indexes()):
            raise CommandError(f"specs/{missing.pop()}.yaml is missing; the demo needs it.")
        for path in iter_files([LIBRARY]):
            with path.open("rb") as file:
                files = {"file": (path.name, file)}
                self.api.send("POST", "indexes/library/artifacts/", files=files)
        lines = [
            json.dumps({"text": text.strip(), "title": f"Python: {name}", "external_id": name})
            for name, text in topics.items()
        ]
        self.api.send(
            "POST",
            "indexes/python-reference/artifacts/batch",
            content="\n".join(lines),
            headers={"Content-Type": NDJSON},
        )
        if not self.api.has_server and has_embedded_store() and options["verbosity"]:
            self.stdout.write("Added. strata serve indexes the documents.")
