"""The base classes of commands.

An ``ApiCommand`` (``core.api_client``) asks the API; a ``LocalCommand`` works without it.
"""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar, cast

import httpx
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from rich.console import Console
from rich.table import Table

from core.apps import around_change
from core.command_hooks import load_specs
from core.exceptions import StrataError
from core.running_server import ServerUnreachable


class StrataCommand(BaseCommand):
    """Reports known errors in one sentence."""

    # Whether it changes data without a request to the API, which would have a row in the audit log.
    changes_data: ClassVar[bool] = False
    prepares_database: ClassVar[bool] = True
    loads_specs: ClassVar[bool] = True

    @cached_property
    def console(self) -> Console:
        """Prints tables and lines to the command's output."""
        return Console(file=cast(IO[str], self.stdout), highlight=False, soft_wrap=True)

    def execute(self, *args: Any, **options: Any) -> Any:
        change = around_change(self, options) if self.changes_data else nullcontext()
        with reported_errors(), change:
            if self.prepares_database:
                for note in prepare_database(loads_specs=self.loads_specs):
                    self.stderr.write(self.style.WARNING(note))
            return super().execute(*args, **options)


class LocalCommand(StrataCommand):
    """A command that works without the API: on the database itself, or before there is one."""

    # Django's own checks import every view, which takes as long as a third of such a command.
    requires_system_checks = ["strata"]


@contextmanager
def reported_errors() -> Iterator[None]:
    """Convert known errors to a ``CommandError`` that says what to do."""
    try:
        yield
    except StrataError as error:
        raise CommandError(format_error(error)) from None
    except (httpx.TransportError, ServerUnreachable) as error:
        raise CommandError(
            f"The running server did not answer: {error}. Run strata doctor for details. "
            "[server_unreachable]"
        ) from None
    except DatabaseError as error:
        raise CommandError(
            f"The database reported an error: {error}. Run strata doctor for details. "
            "[database_unavailable]"
        ) from None


def make_table(*headings: str, counts: Sequence[str]) -> Table:
    """A table with columns of words, then columns of numbers."""
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    for heading in counts:
        table.add_column(heading, justify="right")
    return table


def format_error(error: StrataError) -> str:
    """The error's detail, allowed values, fix and code, in one line."""
    parts = [error.detail if error.detail.endswith((".", "!", "?")) else f"{error.detail}."]
    if error.allowed:
        parts.append(f"Allowed: {', '.join(error.allowed)}.")
    if error.fix:
        parts.append(error.fix)
    field = f", field {error.field}" if error.field else ""
    return f"{' '.join(parts)} [{error.code}{field}]"


def has_embedded_store() -> bool:
    """Whether the settings choose the embedded vector engine, which one process owns."""
    return settings.STRATA_VECTOR_STORE == "embedded"


def limit_database_cache() -> None:
    """Limit SQLite's cache and memory map, for a command that reads most of the database once."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA mmap_size = 0")
            cursor.execute("PRAGMA cache_size = -4000")  # KiB


def prepare_database(*, loads_specs: bool = True) -> list[str]:
    """Load every spec as an index; with the embedded store, run due migrations first.

    In production an operator migrates once for all machines. Returns warnings for the user.

    Raises:
        CommandError: another release made the database, and this one cannot upgrade it.
    """
    if has_embedded_store():
        executor = MigrationExecutor(connection)
        _require_known_migrations(executor)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            with _one_process_at_a_time():
                call_command("migrate", verbosity=0)  # nothing, if another process has done it
    return load_specs() if loads_specs else []


@contextmanager
def _one_process_at_a_time() -> Iterator[None]:
    """Wait for other processes: two that migrate at once would both make the same tables."""
    with Path(settings.STRATA_DATA_DIR, "migrate.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _require_known_migrations(executor: MigrationExecutor) -> None:
    """Migrations are only added, so a database with another one belongs to a newer release, or to
    a state of the project before its first. The rows of an app that is left out would refer to
    documents, which could then not be deleted."""
    known = executor.loader.disk_migrations or {}
    unknown = sorted(executor.loader.applied_migrations.keys() - known.keys())
    for app, _ in unknown:
        if app not in executor.loader.migrated_apps:
            raise CommandError(
                f"The data folder {settings.STRATA_DATA_DIR} has tables of the app {app}, which is "
                "not installed. Add it to INSTALLED_APPS, start the release that has it, or set "
                "STRATA_DATA_DIR to a new folder."
            )
    if unknown:
        raise CommandError(
            f"The data folder {settings.STRATA_DATA_DIR} was made by another release of Strata, "
            f"which this one cannot upgrade: its database has the migration "
            f"{'.'.join(unknown[0])}. Start the release that made it, or set STRATA_DATA_DIR to a "
            "new folder."
        )
