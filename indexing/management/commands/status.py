from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.commands import LocalCommand, make_table
from indexing.health import RETRY_FIX, describe_failures
from indexing.hooks import describe_text_faults
from indexing.progress import get_index_progress


class Command(LocalCommand):
    help = "Show the progress of each index, and thresholds that were measured for another model."
    requires_system_checks = ["strata", "thresholds"]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--index", help="Only this index.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        found = get_index_progress(index)
        if index is not None and not found:
            known = ", ".join(progress["name"] for progress in get_index_progress())
            raise CommandError(f"There is no index named {index!r}; allowed: {known}.")
        columns = ["artifacts", "waiting", "failed", "in part"]
        columns += ["pending", "synced", "failed", "deleting"]
        table = make_table("index", counts=columns)
        for progress in found:
            nodes = progress["nodes"]
            counts = [progress["artifacts"], progress["artifacts_waiting"]]
            counts += [progress["artifacts_failed"], progress["artifacts_partial"]]
            counts += [nodes["pending"], nodes["synced"], nodes["failed"], nodes["deleting"]]
            table.add_row(progress["name"], *(f"{count:,}" for count in counts))
        self.console.print(table)
        for progress in found:
            if progress["problem"]:
                self.console.print(f"{progress['name']}: {progress['problem']}")
            if described := describe_text_faults(progress["name"]):
                self.console.print(described[0])
        for failure in describe_failures(index):
            self.console.print(f"{failure} {RETRY_FIX}")
