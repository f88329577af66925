from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from core.api_client import ApiCommand
from indexing.management.builds import name_build


class Command(ApiCommand):
    help = "Make the previous live build live again."
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")

    def handle(self, *, index: str, **options: Any) -> None:
        build = self.api.post(f"indexes/{quote(index, safe='')}/rollback/")
        self.stdout.write(
            f"{name_build(build)} is live again. The spec file still describes the other build: "
            f"revert it, or the next strata apply {index} promotes that build again."
        )
