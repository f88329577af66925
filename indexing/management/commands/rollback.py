from typing import Any

from django.core.management.base import CommandParser

from core.commands import StrataCommand
from indexing.lifecycle import roll_back_index
from indexing.management.reconciliation import trigger_reconciliation
from indexing.models import Index


class Command(StrataCommand):
    help = "Make the previous live build live again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")

    def handle(self, *, index: str, **options: Any) -> None:
        Index.objects.require(index)
        build = roll_back_index(index)
        trigger_reconciliation()
        self.stdout.write(
            f"{build} is live again. The spec file still describes the other build: revert it, or "
            f"the next strata apply {index} promotes that build again."
        )
