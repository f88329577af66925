import signal
from argparse import ArgumentTypeError
from contextlib import ExitStack
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from core.enqueueing import enqueue_on_commit
from core.running_server import RunningServer, ServerUnreachable, find_server
from core.workers import local_workers
from indexing import tasks
from indexing.kinds import list_regeneration_types
from indexing.management.base_command import StrataCommand
from indexing.management.waiting import wait_for_regeneration
from indexing.models import Regeneration
from indexing.regeneration import (
    ALL_TYPES,
    RegenerationProgress,
    begin_regeneration,
    cancel_regeneration,
    get_regeneration,
)
from indexing.stores import exclusive_store_access, has_embedded_store


class Command(StrataCommand):
    help = (
        "Create and embed nodes again in every build that is kept up to date, and wait until "
        "that is done. If interrupted, it continues at the next start."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--type", action="append", dest="types", metavar="TYPE",
            help=f"One of {', '.join(list_regeneration_types())}, or {ALL_TYPES} (the default); "
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
            help="Regenerate at most N documents (concepts, relationship types), in the order of "
            "their ids.",
        )  # fmt: skip
        parser.add_argument("--offset", type=_integer_from(0), metavar="N", default=0)
        parser.add_argument(
            "--cancel",
            type=_parse_regeneration_id,
            metavar="ID",
            help="Cancel this regeneration and do nothing else.",
        )

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
        cancel: UUID | None,
        **options: Any,
    ) -> None:
        if cancel is not None:
            regeneration = get_regeneration(cancel)
            cancel_regeneration(regeneration)
            self.stdout.write(f"{regeneration} is {regeneration.state}.")
            return
        server = find_server()
        runs_workers_here = server is None and has_embedded_store()
        with ExitStack() as stack:
            if runs_workers_here:
                stack.enter_context(exclusive_store_access())
            regeneration = begin_regeneration(
                types or [ALL_TYPES],
                index=index,
                category=category,
                is_for_missing=only_missing,
                is_for_stale=stale,
                limit=limit,
                offset=offset,
            )
            try:
                if runs_workers_here:
                    stack.enter_context(local_workers())  # their first reconciliation starts it
                else:
                    self._enqueue(regeneration, server)
                progress = wait_for_regeneration(
                    regeneration, lambda: server is None or find_server() is not None
                )
            except KeyboardInterrupt:
                goes_on = (
                    "when the next server starts" if runs_workers_here else "without this command"
                )
                self.stderr.write(f"It continues {goes_on}. {_cancel_hint(regeneration)}")
                raise SystemExit(128 + signal.SIGINT) from None
            except (CommandError, ServerUnreachable) as error:
                raise CommandError(f"{error} {_cancel_hint(regeneration)}") from None
        self._report(progress)

    def _enqueue(self, regeneration: Regeneration, server: RunningServer | None) -> None:
        if server is None:
            enqueue_on_commit(tasks.regenerate, regeneration_id=str(regeneration.pk))
        else:
            server.reconcile()

    def _report(self, progress: RegenerationProgress) -> None:
        row = progress.regeneration
        prefix = "Cancelled: " if row.state == Regeneration.State.CANCELLED else ""
        self.stdout.write(
            f"{prefix}{row.done_count} examined, {row.due_artifact_count} regenerated: "
            f"{_count(row.due_node_count, 'node')}, {_count(row.due_text_count, 'text')}"
        )
        failed = {
            "documents were given up": row.failed_count,
            "documents have texts that could not be written": progress.refused_count,
            "nodes failed": progress.failed_count,
        }
        for what, count in failed.items():
            if count:
                self.stderr.write(f"{count} {what}")
        if row.last_error:
            self.stderr.write(row.last_error)
        if any(failed.values()):
            raise SystemExit(1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else f'{noun}s'}"


def _cancel_hint(regeneration: Regeneration) -> str:
    return f"To cancel it: strata regenerate --cancel {regeneration.pk}"


def _integer_from(minimum: int) -> Any:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {minimum}.")
        return int(text)

    return number


def _parse_regeneration_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not the id of a regeneration.") from None
