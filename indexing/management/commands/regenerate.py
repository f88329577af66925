import signal
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from core.api_client import ApiCommand
from indexing.kinds import list_regeneration_types
from indexing.management.waiting import wait_for_regeneration
from indexing.regeneration import ALL_TYPES, TYPE_ALIASES


class Command(ApiCommand):
    help = (
        "Create and embed nodes again in every build that is kept up to date, and wait until "
        "that is done. If interrupted, it continues at the next start."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--type", action="append", dest="types", metavar="TYPE",
            help=f"One of {', '.join([*list_regeneration_types(), *TYPE_ALIASES])}, or "
            f"{ALL_TYPES} (the default); "
            "may be given several times. Summaries and questions are written again, except "
            "those written by hand.",
        )  # fmt: skip
        parser.add_argument("--index", help="Default: all indexes.")
        parser.add_argument(
            "--category",
            default="",
            help="Only relationship types of this category, with --type vocabulary.",
        )
        parser.add_argument(
            "--only-missing",
            action="store_true",
            help="Only documents with missing nodes or points.",
        )
        parser.add_argument(
            "--stale",
            action="store_true",
            help="Only documents that changed since they were planned, or were never hashed.",
        )
        parser.add_argument(
            "--limit", type=_integer_from(1), metavar="N",
            help="Regenerate at most N documents, or N of what else the types are made of, in the "
            "order of their ids.",
        )  # fmt: skip
        parser.add_argument("--offset", type=_integer_from(0), metavar="N", default=0)

    def handle(
        self,
        *,
        types: list[str] | None,
        index: str | None,
        category: str,
        only_missing: bool,
        stale: bool,
        limit: int | None,
        offset: int,
        **options: Any,
    ) -> None:
        started_at = timezone.now()
        indexes = [index] if index else self.api.list_indexes()
        with self.api.working() as works_here:
            for each in types or [ALL_TYPES]:
                body = {
                    "type": each,
                    "index": index,
                    "category": category,
                    "only_missing": only_missing,
                    "stale": stale,
                    "limit": limit,
                    "offset": offset,
                }
                made = self.api.post("regenerate/", body)
                self.stdout.write(
                    f"{each}: {made['examined']} examined, {made['due']} due, "
                    f"{made['nodes']} nodes to embed"
                )
            try:
                failed = wait_for_regeneration(self.api, indexes, started_at)
            except KeyboardInterrupt:
                goes_on = "when the next server starts" if works_here else "without this command"
                self.stderr.write(f"It continues {goes_on}.")
                raise SystemExit(128 + signal.SIGINT) from None
        for what, count in failed.items():
            if count:
                self.stderr.write(f"{count} {what}")
        if any(failed.values()):
            raise SystemExit(1)


def _integer_from(minimum: int) -> Any:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}.")
        return int(text)

    return number
