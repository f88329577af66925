from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandParser

from config import embedded
from config.building import nudge
from core.running_server import find_server
from indexing.management.prepared import PreparedCommand
from indexing.promotion import get_index, prune_builds, remove_retired


class Command(PreparedCommand):
    help = (
        "Give up the builds that are only kept to roll back to, and remove what builds given up "
        "have left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="By default all.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        if index is not None:
            get_index(index)
        pruned = prune_builds(index)
        for build in pruned:
            self.stdout.write(f"{build} is given up.")
        if find_server() is None and embedded.is_embedded():
            with ExitStack() as stack:
                stack.enter_context(embedded.owning_store())
                count = remove_retired(grace_seconds=0)  # no one else can be searching
            self.stdout.write(f"Builds removed: {count}")
            return
        nudge()
        self.stdout.write("What they left is removed once no search can be reading it.")
