"""The base class of commands that read or write indexes."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from core.exceptions import StrataError
from indexing.services import load_specs


class StrataCommand(BaseCommand):
    """Prepares the database before the command runs, and reports known errors in one sentence."""

    # Django's own checks import every view, which takes as long as a third of such a command.
    requires_system_checks = ["strata"]
    loads_specs = True

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            for note in prepare_database(loads_specs=self.loads_specs):
                self.stderr.write(self.style.WARNING(note))
            return super().execute(*args, **options)
        except StrataError as error:
            raise CommandError(format_error(error)) from None
        except DatabaseError as error:
            raise CommandError(
                f"The database reported an error: {error}. Run manage.py doctor for details."
            ) from error


def format_error(error: StrataError) -> str:
    """The error's detail, allowed values, fix and code, in one line."""
    parts = [error.detail if error.detail.endswith((".", "!", "?")) else f"{error.detail}."]
    if error.allowed:
        parts.append(f"Allowed: {', '.join(error.allowed)}.")
    if error.fix:
        parts.append(error.fix)
    field = f", field {error.field}" if error.field else ""
    return f"{' '.join(parts)} [{error.code}{field}]"


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
    if settings.STRATA_VECTOR_STORE == "embedded":
        executor = MigrationExecutor(connection)
        _require_known_migrations(executor)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0)
    return load_specs() if loads_specs else []


def _require_known_migrations(executor: MigrationExecutor) -> None:
    """Migrations are only added, so a database with another one belongs to a newer release, or to
    a state of the project before its first."""
    known = executor.loader.disk_migrations or {}
    unknown = sorted(executor.loader.applied_migrations.keys() - known.keys())
    if unknown:
        raise CommandError(
            f"The data folder {settings.STRATA_DATA_DIR} was made by another release of Strata, "
            f"which this one cannot upgrade: its database has the migration "
            f"{'.'.join(unknown[0])}. Start the release that made it, or set STRATA_DATA_DIR to a "
            "new folder."
        )
