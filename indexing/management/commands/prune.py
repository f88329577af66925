from typing import Any

from django.core.management.base import CommandParser

from core.commands import StrataCommand, has_embedded_store
from core.running_server import find_server
from indexing.lifecycle import prune_builds, remove_retired_builds
from indexing.management.reconciliation import trigger_reconciliation
from indexing.models import Index
from indexing.stores import exclusive_store_access


class Command(StrataCommand):
    help = (
        "Give up the standby builds, which are kept for rollback, and remove the data of all "
        "builds given up."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="Default: all indexes.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        if index is not None:
            Index.objects.require(index)
        pruned = prune_builds(index)
        for build in pruned:
            self.stdout.write(f"{build} is given up.")
        if find_server() is None and has_embedded_store():
            with exclusive_store_access():
                count = remove_retired_builds(grace_seconds=0)  # no other process searches
            self.stdout.write(f"Builds removed: {count}")
            return
        trigger_reconciliation()
        self.stdout.write("Their data is removed when no search can be reading it.")
