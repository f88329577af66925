"""The base of commands that read or write indexes, on a fresh data folder as on any other."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from core.exceptions import StrataError
from indexing.services import load_specs


class PreparedCommand(BaseCommand):
    """Before it runs, the database is prepared; what goes wrong in the ways we know ends in one
    sentence."""

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            for note in prepare_database():
                self.stderr.write(self.style.WARNING(note))
            return super().execute(*args, **options)
        except StrataError as error:
            raise CommandError(f"{error} {error.fix or ''}".strip()) from None
        except DatabaseError as error:
            raise CommandError(
                f"The database does not answer as it should: {error}. manage.py doctor says more."
            ) from error


def read_database_once() -> None:
    """For whoever reads most of it and nothing twice: mapped, all of it would count as memory of
    this process, and little of it is worth keeping."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA mmap_size = 0")
            cursor.execute("PRAGMA cache_size = -4000")  # KiB


def prepare_database() -> list[str]:
    """Make every spec an index; in the embedded form, migrate first where that is due.

    Elsewhere an operator migrates, once for all machines. Returns what people should be told.
    """
    if settings.STRATA_VECTOR_STORE == "embedded":
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0)
    return load_specs()
