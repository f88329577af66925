from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from core.commands import make_table
from indexing.management.builds import make_path, name_build

ACTIONS = ("pause", "resume", "cancel")


class Command(ApiCommand):
    help = "List the builds; or pause, resume or cancel one that is not live."
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="Default: all indexes.")
        actions = parser.add_mutually_exclusive_group()
        for action in ACTIONS:
            actions.add_argument(f"--{action}", type=int, metavar="N", help="The build's number.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        for action in ACTIONS:
            if (number := options[action]) is not None:
                if index is None:
                    raise CommandError(f"Name the index of the build to {action}.")
                self.api.post(f"{make_path(index, number)}{action}/")
        names = [index] if index else self.api.list_indexes()
        rows = [build for name in names for build in self.api.get(make_path(name))["results"]]
        columns = ["pending", "synced", "failed", "copied", "embedded", "missing"]
        table = make_table("build", "state", counts=columns)
        for row in rows:
            nodes = row["nodes"]
            counts = [nodes["pending"], nodes["synced"], nodes["failed"]]
            counts += [row["copied"], row["embedded"], row["artifacts_missing"]]
            state = "paused" if row["paused_at"] else row["state"]
            table.add_row(name_build(row), state, *(f"{n:,}" for n in counts))
        self.console.print(table)
        for row in rows:
            unread, failed = row["artifacts_unread"], row["artifacts_not_reread"]
            readings = f"{unread:,} documents to read anew; {failed:,} could not be read anew."
            for reason in (
                row["pause_reason"],
                row["problem"],
                readings if unread or failed else None,
            ):
                if reason:
                    self.console.print(f"{name_build(row)}: {reason}")
