from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser

from core.commands import StrataCommand, make_table
from indexing.lifecycle import cancel_build, get_build, pause_build, resume_build
from indexing.management.reconciliation import trigger_reconciliation
from indexing.models import Index, IndexBuild
from indexing.serializers import render_builds

ACTIONS: dict[str, Callable[[IndexBuild], None]] = {
    "pause": pause_build,
    "resume": resume_build,
    "cancel": cancel_build,
}


class Command(StrataCommand):
    help = "List the builds; or pause, resume or cancel one that is not live."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="Default: all indexes.")
        actions = parser.add_mutually_exclusive_group()
        for action in ACTIONS:
            actions.add_argument(f"--{action}", type=int, metavar="N", help="The build's number.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        if index is not None:
            Index.objects.require(index)
        for action, act in ACTIONS.items():
            if options[action] is not None:
                act(get_build(index or "", options[action]))
                trigger_reconciliation()
        builds = IndexBuild.objects.filter(removed_at=None).order_by("index", "number")
        builds = builds.select_related("index__search_settings")
        if index is not None:
            builds = builds.filter(index=index)
        columns = ["pending", "synced", "failed", "copied", "embedded", "missing"]
        table = make_table("build", "state", counts=columns)
        rows = render_builds(list(builds))
        for row in rows:
            nodes = row["nodes"]
            counts = [nodes["pending"], nodes["synced"], nodes["failed"]]
            counts += [row["copied"], row["embedded"], row["artifacts_missing"]]
            state = "paused" if row["paused_at"] else row["state"]
            table.add_row(f"{row['index']} #{row['number']}", state, *(f"{n:,}" for n in counts))
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
                    self.console.print(f"{row['index']} #{row['number']}: {reason}")
