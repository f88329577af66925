from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from core.api_client import ApiCommand
from core.commands import has_embedded_store
from indexing.lifecycle import remove_retired_builds
from indexing.management.builds import name_build
from indexing.stores import exclusive_store_access


class Command(ApiCommand):
    help = (
        "Give up the standby builds, which are kept for rollback, and remove the data of all "
        "builds given up."
    )
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="Default: all indexes.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        for name in [index] if index else self.api.list_indexes():
            for build in self.api.post(f"indexes/{quote(name, safe='')}/prune/")["results"]:
                self.stdout.write(f"{name_build(build)} is given up.")
        if self.api.has_server or not has_embedded_store():
            self.stdout.write("Their data is removed when no search can be reading it.")
            return
        with exclusive_store_access():
            count = remove_retired_builds(grace_seconds=0)  # no other process searches
        self.stdout.write(f"Builds removed: {count}")
